"""Ensembles: loops that sample rows, compute statistics, grow trees and combine them."""
