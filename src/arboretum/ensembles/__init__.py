"""Ensembles: the loops that sample rows, make statistics, grow trees and combine them."""
