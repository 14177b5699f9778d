"""Data: tables of any library, files and databases, as columns of numbers and codes; the last place that knows them."""
