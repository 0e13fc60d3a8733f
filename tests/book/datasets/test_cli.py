"""`safescreen data list | fetch | verify`."""

from safescreen_book.cli import main

from .conftest import TEST_TEXT, TEXT


def run(*words):
    return main(["data", *words])


def test_list_says_what_is_here(capsys):
    assert run("list") == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "scikit-learn" in lines["iris"] and "STS19" in lines["iris"]
    assert "32561" in lines["a9a"] and "123" in lines["a9a"]


def test_verify_checks_what_is_here_and_fails_on_what_is_named(tiny, folders, capsys):
    assert run("verify") == 0
    assert "no data files are here" in capsys.readouterr().out
    assert run("verify", "lost") == 1
    assert "lost.data" in capsys.readouterr().err
    (folders[0] / "tiny").write_bytes(TEXT)
    (folders[0] / "tiny.t").write_bytes(TEST_TEXT)
    assert run("verify") == 0
    assert "tiny: checksums are right (tiny, tiny.t)" in capsys.readouterr().out
    (folders[0] / "tiny").write_bytes(b"other")
    assert run("verify") == 1
    assert "wrong checksum" in capsys.readouterr().err


def test_wrong_use_is_exit_code_2(capsys):
    assert run("fetch") == 2
    assert run("fetch", "iris", "--all") == 2
    assert run("fetch", "irsi") == 2
    assert run("verify", "irsi") == 2
    assert "did you mean iris" in capsys.readouterr().err
    assert run() == 2
    assert run("fetch", "iris") == 0
    assert "iris: here (part of scikit-learn)" in capsys.readouterr().out
