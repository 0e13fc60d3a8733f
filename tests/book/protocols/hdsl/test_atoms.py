"""A similarity comes back from the table of its atoms, through text too."""

import io

import numpy as np
import pandas as pd

from safescreen_book.protocols import hdsl as lab


def test_the_same_matrix_through_a_file():
    similarity = lab.random_similarity(30, 12, 5.0, random_state=0)
    text = lab.table_of(similarity).to_csv(index=False, float_format="%.9g")
    again = lab.similarity_of(pd.read_csv(io.StringIO(text)), 5.0, 30)
    assert np.allclose(again.to_sparse().toarray(), similarity.to_sparse().toarray(), rtol=1e-8)
    assert np.array_equal(again.features, similarity.features)
