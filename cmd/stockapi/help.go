package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpTexts returns longHelp, with empty texts if args do not ask for help. Kong interpolates each text for each flag,
// which would take a tenth of the processor time of a start.
func helpTexts(args []string) kong.Vars {
	if slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-h") || strings.HasPrefix(arg, "--help")
	}) {
		return longHelp
	}
	texts := kong.Vars{}
	for name := range longHelp {
		texts[name] = ""
	}
	return texts
}

// longHelp holds the help texts that do not fit into one line of config. Their tags refer to them by name.
var longHelp = kong.Vars{
	"redis_help": "Redis that keeps the stock, or 'embedded' for one inside this process. ?master_name=… for Sentinel, " +
		"?addr=… for Cluster.",
	"listen_help":   "Address to listen on. Port 0 picks a free port.",
	"embedded_help": "Address on which an embedded Redis listens.",
	"redlock_help": "Independent Redis nodes for v6 and v9-nodes, each a server of its own. Default: the lock Redis " +
		"alone.",
	"redlock_timeout_help": "Bound on the wait of v6 for a node, which is a twentieth of the TTL and at least 5ms.",
	"redis_timeout_help":   "Timeout for connecting to Redis or ZooKeeper, and for each command.",
	"redis_pipelining_help": "Pipeline the commands of all orders over one connection to each Redis. Experimental. " +
		"Not for Cluster; not with --faults, --narrate or --setnx-ttl.",
	"sql_help": "Database that keeps the locks of v12: sqlite:///path, mysql://…, mariadb://… or postgres://…, or " +
		"'none'. Default: an SQLite file that this user's instances on this machine share, created when v12 first sells.",
	"sql_timeout_help": "Timeout for connecting to the database, and for each statement.",
	"zookeeper_help":   "ZooKeeper for v13 and v14. Default: none; these rungs are then unavailable.",
	"zookeeper_session_help": "How long the locks of v13 and v14 outlive a dead holder. They have no TTL. ZooKeeper may " +
		"bound it.",
	"wait_help": "Longest wait for the lock if a request sets none. Default: the rung's own (v1 to v5 try once; " +
		"v0.5, v6 and the rungs with a queue wait 20s).",
	"setnx_ttl_help": "TTL of the locks of v1 and v12-naive, for tests on a shared Redis or database. Default: none, " +
		"which is the defect of both.",
	"max_renewals_help": "Renewals after which v5.5, v5.7 and v9 cancel the work.",
	"lock_replicas_help": "Replicas of the lock Redis that must confirm a lock of v5.7. With 0, for a Redis without " +
		"replicas, v5.7 is v5.5.",
	"orders_help": "Outcomes of past orders to keep for GET /orders/{order}.",
	"faults_help": "Allow requests to inject faults: fault=crash@after:setnx. For tests only: any client can then " +
		"end this process.",
	"admin_token_help": "Token that PUT and DELETE on /stock and /locks require, and faults. Default: none.",
	"narrate_help": "Print each step of each order on standard output: waits, holds the lock, read 98, sold 98, lease " +
		"lost, released. In colour on a terminal, unless NO_COLOR is set.",
	"hosts_help": "Names to accept as the Host of a request, besides localhost and the address; '*' for any. " +
		"Default: none on loopback, otherwise any address and any name without a dot.",
	"log_level_help":       "debug, info, warn or error; debug includes each order that found the lock busy.",
	"exit_with_stdin_help": "End when standard input ends: with the parent process, even if that is killed.",
}
