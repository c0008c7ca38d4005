package scenario

// Who is woken by a release, among many who wait for it.
var herd = Scenario{
	Name: "herd", Does: "fifty wait over two instances while the lock is held; then it is released, and all are served", Instances: 2,
	TTL: longLease, inject: injectHerd,
	Apart: apartFrom([]string{"v7", "v8", "v13", "v14"}, "a release wakes nobody: who waits asks again after a while"),
	Expect: []Expectation{
		{"v7", quiet, "the waiters of an instance share one subscription, and a message lets one of them try"},
		{"v8", quiet, "the release calls the first in line by name"},
		{"v13", fencedHerd, "all who wait watch the one node, and all but one of them go back to watch the next one's"},
		{"v14", fencedQuiet, "each watches the node before its own, and nobody else does"},
	},
}
