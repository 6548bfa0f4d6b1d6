"""A bag as the signals of a robot: topics, survey, samples."""
