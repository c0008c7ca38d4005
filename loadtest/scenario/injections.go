package scenario

import "context"

// injections maps each fault scenario to the function that injects its fault.
var injections = map[string]func(context.Context, *play) error{
	"crash":              playCrash,
	"slow-work":          playSlowWork,
	"late-release":       playLateRelease,
	"check-delete-gap":   playCheckDeleteGap,
	"pause":              playPause,
	"pause-at-work":      playPauseAtWork,
	"hung-holder":        playHungHolder,
	"sold-out-restock":   playSoldOutRestock,
	"write-only-fence":   playWriteOnlyFence,
	"nested":             playNested,
	"queue-order":        playQueueOrder,
	"herd":               playHerd,
	"opposite-order":     playOppositeOrder,
	"readers-and-writer": playReadersAndWriter,
	"cut-off":            playCutOff,
	"reply-lost":         playReplyLost,
	"late-reply":         playLateReply,
	"redis-down":         playRedisDown,
	"minority-down":      playMinorityDown,
	"majority-down":      playMajorityDown,
	"quorum-returns":     playQuorumReturns,
	"node-restart":       playNodeRestart,
	"delayed-restart":    playDelayedRestart,
	"clock-jump":         playClockJump,
	"failover":           playFailover,
	"stock-failover":     playStockFailover,
}
