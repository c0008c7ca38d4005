package contract

// A Need says how much loadtest needs a route, or a member of an answer.
type Need string

// Without a Must no cell can be judged. A Should allows one more verdict, and a May tells more.
const (
	Must   Need = "must"
	Should Need = "should"
	May    Need = "may"
)

// A Route is one request of the contract.
type Route struct {
	Name string
	Need Need
	// Without says what cannot be done, or judged, without it.
	Without string
	// Members are the members of its answer; none, if nobody reads it.
	Members []Member
	// Sometimes are members that only some answers have, whatever the service can do.
	Sometimes []Member
}

// A Member is one member of a JSON answer.
type Member struct {
	// Path is its path, such as "lease.token"; "rungs[].number" means that of each element of rungs.
	Path    string
	Kind    Kind
	Need    Need
	Without string
}

const (
	noCells       = "no cell is run"
	noStock       = "the sale proves nothing: stock cannot be judged"
	noExclusion   = "exclusion cannot be judged: –, as where the rung takes no lock"
	noOwnRelease  = "own-release cannot be judged: –, as where the rung takes no lock"
	noSharing     = "an order without a lease of its own has one that was not seen: exclusion is unknown"
	noRefused     = "exclusion and own-release do not see what an order did that was refused"
	noResolution  = "the outcome of an order without an answer stays unknown"
	evidenceOnly  = "evidence tells less"
	keysStay      = "what the run put there stays"
	noCommandRate = "commands per sale are not told"
)

// The routes, in the order in which they are checked. {rung} and {product} are placeholders.
var (
	alive = Route{Name: "GET /livez", Need: Should,
		Without: "connections are dialled while the load runs, and count as latency"}
	ready = Route{Name: "GET /readyz", Need: May,
		Without: "nothing is lost: only instances that loadtest starts are asked for it"}
	rungs = Route{Name: "GET /rungs", Need: Must, Without: noCells, Members: []Member{
		{"rungs", list, Must, noCells},
		{"rungs[].number", text, Must, noCells},
		{"rungs[].available", yesNo, Must, "the rung counts as one that is not to be had: " + noCells},
		{"rungs[].needs", list, May, "what a rung lacks that is not available is not told"},
		{"instance", text, Should,
			"an order without an answer is put down to nobody, and where there are two, no times are compared"},
		{"clock", text, Should, "times of two instances are not compared: only stock and liveness are asked"},
		{"now", moment, May, "a clock that is stepped between orders may not show"},
		{"build", text, May, "results do not tell which build was measured"},
	}}
	fill  = Route{Name: "PUT /stock/{product}", Need: Must, Without: noCells}
	keep  = Route{Name: "PUT /stock/{product}, ttl", Need: May, Without: "the stock of a run that is killed stays"}
	count = Route{Name: "GET /stock/{product}", Need: Must, Without: "stock is unknown, unless a unit was sold twice",
		Members: []Member{
			{"quantity", whole, Must, "stock is unknown, unless a unit was sold twice"},
		}}
	soldBy = Member{"sold_by", text, May, noSharing}
	sale   = Route{Name: "POST /{rung}/decrease: 200", Need: Must, Without: noStock, Members: []Member{
		{"order", text, Must, noStock},
		{"quantity", whole, Must, noStock},
		{"units", wholes, Must, noStock},
		{"left", whole, May, evidenceOnly},
		{"instance", text, Should, "evidence names the instance that was asked, behind a proxy another than sold"},
		{"waited_ms", number, May, evidenceOnly},
		{"lease", object, Should, noExclusion},
		{"lease.acquired_at", moment, Should, noExclusion},
		{"lease.released_at", moment, Should, "a lease without an end overlaps nothing: exclusion cannot be judged"},
		{"lease.token", text, May, evidenceOnly},
		{"lease.fence", whole, May, "fence cannot be judged: –, as where the rung has no fencing tokens"},
		{"lease.lost", yesNo, May, evidenceOnly},
		{"trace", list, Should, noOwnRelease},
		{"trace[].node", text, Should, noOwnRelease},
		{"trace[].cmd", text, Should, noOwnRelease},
		{"trace[].key", text, Should, noOwnRelease},
		{"trace[].at", moment, Should, noOwnRelease},
		{"trace[].end", moment, Should, noOwnRelease},
		{"trace[].reply", text, Should, "the command counts as one that did nothing: own-release cannot be judged"},
	}, Sometimes: []Member{soldBy}}
	refusal = Route{Name: "POST /{rung}/decrease: 409", Need: Must,
		Without: "who is refused is told nothing: liveness cannot be judged", Members: []Member{
			{"type", text, May, evidenceOnly},
			{"detail", text, May, evidenceOnly},
			{"order", text, Should, "a refusal that was meant for another order is not noticed"},
			{"outcome", text, May, "409 says it by itself"},
			{"instance_name", text, Should, "evidence names the instance that was asked, behind a proxy another than refused"},
			{"lease", object, May, noRefused},
			{"trace", list, May, noRefused},
		}, Sometimes: []Member{soldBy}}
	busy = Route{Name: "POST /{rung}/decrease: 423", Need: May, Without: "nothing is lost, where nobody has to wait",
		Members: []Member{
			{"order", text, Should, "a refusal that was meant for another order is not noticed"},
			{"instance_name", text, Should, "evidence names the instance that was asked, behind a proxy another than refused"},
		}}
	recall = Route{Name: "GET /orders/{order}", Need: May, Without: noResolution, Members: []Member{
		{"order", text, Must, noResolution},
		{"outcome", text, Must, noResolution},
		{"product", text, May, evidenceOnly},
		{"quantity", whole, Must, noResolution},
		{"units", wholes, Must, noResolution},
		{"left", whole, May, evidenceOnly},
		{"instance", text, Should, evidenceOnly},
	}, Sometimes: []Member{soldBy}}
	metrics = Route{Name: "GET /metrics", Need: May, Without: noCommandRate}
	unlock  = Route{Name: "DELETE /locks/{product}", Need: Should, Without: keysStay}
	remove  = Route{Name: "DELETE /stock/{product}", Need: Should, Without: keysStay}
)

// Routes is the whole contract.
var Routes = []Route{
	alive, ready, rungs, fill, keep, count, sale, refusal, busy, recall, metrics, unlock, remove,
}
