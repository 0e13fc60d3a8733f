"""The batch job: manifest, run folders, workers, and the notebooks' two files."""
