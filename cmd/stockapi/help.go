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
	"redis_help": "Redis of the stock, or 'embedded' for one inside this process. ?master_name=… for Sentinel, " +
		"?addr=… for Cluster. Default:",
	"listen_help":   "Address to listen on; port 0 picks a free port. Default:",
	"embedded_help": "Address of an embedded Redis. Default:",
	"redlock_help": "Independent Redis nodes for v6 and v9-nodes, each a server of its own. Default: the lock Redis " +
		"alone.",
	"redlock_timeout_help": "Bound on the wait of v6 for a node, a twentieth of the TTL, at least 5ms.",
	"redis_timeout_help":   "Timeout for connecting to Redis or ZooKeeper, and for each command.",
	"redis_pipelining_help": "Pipeline the commands of all orders over one connection to each Redis. Experimental. " +
		"Not for Cluster; not with --faults, --narrate or --setnx-ttl.",
	"sql_help": "Database of the locks of v12: sqlite:///path, mysql://…, mariadb://… or postgres://…, or " +
		"'none'. Default: an SQLite file that this user's instances on this machine share, created when v12 first sells.",
	"sql_timeout_help":       "Timeout for connecting to the database, and for each statement.",
	"zookeeper_help":         "ZooKeeper for v13 and v14. Default: none; these rungs are then unavailable.",
	"zookeeper_session_help": "How long locks of v13 and v14 outlive a dead holder. ZooKeeper may bound it.",
	"wait_help": "Longest wait for the lock if a request sets none. Default: the rung's own (v1 to v5 try once; " +
		"v0.5, v6 and the rungs with a queue wait 20s).",
	"setnx_ttl_help":     "TTL of locks of v1 and v12-naive, for tests on shared servers. Default: none, their defect.",
	"max_renewals_help":  "Renewals after which v5.5, v5.7 and v9 cancel the work.",
	"lock_replicas_help": "Replicas that must confirm a lock of v5.7. With 0, v5.7 is v5.5.",
	"orders_help":        "Outcomes of past orders to keep for GET /orders/{order}.",
	"faults_help": "Allow requests to inject faults: fault=hold@before:write. For tests only: any client can then " +
		"hold a lock for minutes.",
	"admin_token_help": "Token to require for PUT and DELETE on /stock and /locks, and for faults. Default: none.",
	"narrate_help":     "Print each step of each order on standard output, in colour on a terminal without NO_COLOR.",
	"hosts_help": "Names to accept as the Host of a request, besides localhost and the address; '*' for any. " +
		"Default: none on loopback, otherwise any address and any name without a dot.",
	"log_level_help":       "debug, info, warn or error; debug includes orders that found the lock busy.",
	"exit_with_stdin_help": "End when standard input ends: with the parent process, even if that is killed.",
}
