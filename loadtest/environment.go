package main

import "os"

// theStockapi returns the stockapi to start, "" for the usual one.
func theStockapi() string { return os.Getenv("LOADTEST_STOCKAPI") }

// adminToken returns the admin token of the instances. It is no flag, since others can read a command line.
func adminToken() string { return os.Getenv("LOADTEST_ADMIN_TOKEN") }
