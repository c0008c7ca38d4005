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
	"listen_help":   "Address to listen on. Port 0 is any free port.",
	"embedded_help": "Address on which an embedded Redis listens.",
	"redlock_help": "Independent Redis nodes for v6 and v9-nodes, each a server of its own. Default: the lock Redis " +
		"alone.",
	"redlock_timeout_help": "How long v6 waits for the answer of a node, at most. It waits for a twentieth of the TTL, " +
		"and at least 5ms.",
	"redis_timeout_help": "Timeout for connecting to Redis or ZooKeeper, and for each command.",
	"redis_pipelining_help": "Send the commands of all orders over one connection to each Redis, those that come " +
		"together in one write. Experimental. Not for Cluster; not with --faults, --narrate or --setnx-ttl.",
	"sql_help": "Database that keeps the locks of v12: sqlite:///path, mysql://…, mariadb://… or postgres://…, or " +
		"'none'. Default: an SQLite file that this user's instances on this machine share, created when v12 first sells.",
	"sql_timeout_help": "Timeout for connecting to the database, and for each statement.",
	"zookeeper_help":   "ZooKeeper for v13 and v14. Default: none, and these rungs are not available.",
	"zookeeper_session_help": "How long the locks of v13 and v14 outlive a dead holder. They have no TTL. ZooKeeper may " +
		"bound it.",
	"wait_help": "How long to wait for the lock when a request does not say. Default: the rung's (v1 to v5 try once; " +
		"v0.5, v6 and the rungs with a queue wait 20s).",
	"setnx_ttl_help": "TTL of the locks of v1 and v12-naive. Default: none, which is the defect that both show. For " +
		"tests on a Redis or a database that other people use.",
	"max_renewals_help": "How often v5.5, v5.7 and v9 renew a lease before they cancel the work.",
	"lock_replicas_help": "How many replicas of the lock Redis have to confirm a lock of v5.7. With 0, for a Redis " +
		"without replicas, v5.7 is v5.5.",
	"orders_help": "How many outcomes of past orders to keep for GET /orders/{order}; 0: none.",
	"faults_help": "Let requests ask for faults: fault=crash@after:setnx. For tests only: any client can end this " +
		"process.",
	"admin_token_help": "Token for PUT and DELETE on /stock and /locks, and for faults. Default: none is needed.",
	"narrate_help": "Print each step of each order on standard output: waits, has the lock, read 98, sold 98, lease " +
		"lost, released. In colour on a terminal, unless NO_COLOR is set.",
	"hosts_help": "Names allowed as the Host of a request, beside localhost and the address; '*' for any. Default: on " +
		"loopback none, otherwise any address and any name without a dot.",
	"exit_with_stdin_help": "End when standard input ends, and so with the process that holds its other end.",
}
