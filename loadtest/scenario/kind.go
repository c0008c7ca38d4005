package scenario

// Kinds are the kinds of lock, by where it lies, and so by what ends it when its holder does not.
var Kinds = []string{onRedis, onNodes, inARow, inASession, onZooKeeper, noneShared}

const (
	onRedis     = "Redis"
	onNodes     = "five nodes" // of Redis
	inARow      = "SQL row"
	inASession  = "SQL session"
	onZooKeeper = "ZooKeeper"
	noneShared  = "no lock" // nor is a mutex in the memory of a process one that instances share
)

// KindOf returns the kind of the lock of the rung of that number.
func KindOf(number string) string {
	r := rungOf(number)
	switch {
	case r.OnZooKeeper():
		return onZooKeeper
	case r.OnNodes():
		return onNodes
	case r.Name == "sql-row":
		return inARow
	case r.Name == "sql-session":
		return inASession
	case r.Name == "nolock", r.Name == "mutex", r.Name == "cas", r.Name == "atomic":
		return noneShared
	}
	return onRedis
}
