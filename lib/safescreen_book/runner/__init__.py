"""Run experiments in a batch: manifest, folders of runs, workers, the two files of a notebook."""
