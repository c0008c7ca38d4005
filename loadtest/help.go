package main

import "github.com/alecthomas/kong"

// longHelp holds the help texts that do not fit into the line of their flag. The tags refer to them by name.
var longHelp = kong.Vars{
	"rate_help": "Open loop: send R requests per second, and measure latency from when each is due. Default: closed loop.",
	"backend_help": "Redis for stock and locks: auto (redis-server from PATH, else embedded), embedded, redis-server, " +
		"or a URL.",
	"sql_help": "Database for the locks of v12: auto (MariaDB or PostgreSQL if installed, else SQLite), mariadb, " +
		"postgres, sqlite, or a DSN as for stockapi --sql. A run removes its tables.",
	"zookeeper_help": "ZooKeeper for v13 and v14. Default: start Debian's if it is installed, else skip these rungs.",
	"targets_help":   "Drive these running instances, and start nothing. one-instance uses only the first.",
	"out_help":       "Write results.jsonl.gz, matrix.txt and report.html to DIR, in place of the last run. Default: out.",
	"order_help": "Request that orders a unit, such as POST /buy {\"sku\":\"{product}\"}; {i}, a number, and {order}, a " +
		"word, differ in every order. Default:",
	"order_run_help": "Shell command that orders a unit instead, at {url}: exit code 0 is a sale (or what --sold " +
		"matches), 1 a refusal. It may contain {port}, {redis_port}, {db_host}, {db_port}, {product}, {i} and {order}.",
	"set_help": "Command that sets the stock of {product} to {n} before each cell. With --stock, what else an order " +
		"needs: a token, seats.",
	"stock_help": "Redis command that sets the stock to {n}: SET KEY {n}, or HSET KEY FIELD {n}. Default:",
}
