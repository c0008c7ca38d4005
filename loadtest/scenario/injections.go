package scenario

import "context"

// injections maps each fault scenario to the function that injects its fault.
var injections = map[string]func(context.Context, *faultCell) error{
	"crash":                    injectCrash,
	"slow-work":                injectSlowWork,
	"late-release":             injectLateRelease,
	"check-delete-gap":         injectCheckDeleteGap,
	"pause":                    injectPause,
	"pause-at-work":            injectPauseAtWork,
	"hung-holder":              injectHungHolder,
	"sold-out-restock":         injectSoldOutRestock,
	"write-only-fence":         injectWriteOnlyFence,
	"nested":                   injectNested,
	"queue-order":              injectQueueOrder,
	"herd":                     injectHerd,
	"opposite-order":           injectOppositeOrder,
	"readers-and-writer":       injectReadersAndWriter,
	"cut-off":                  injectCutOff,
	"reply-lost":               injectReplyLost,
	"late-reply":               injectLateReply,
	"redis-down":               injectRedisDown,
	"minority-down":            injectMinorityDown,
	"majority-down":            injectMajorityDown,
	"quorum-returns":           injectQuorumReturns,
	"node-restart":             injectNodeRestart,
	"delayed-restart":          injectDelayedRestart,
	"clock-jump":               injectClockJump,
	"failover":                 injectFailover,
	"failover-lagging":         injectFailoverLagging,
	"node-failover":            injectNodeFailover,
	"node-failover-delayed":    injectNodeFailoverDelayed,
	"split-brain":              injectSplitBrain,
	"split-brain-min-replicas": injectSplitBrainMinReplicas,
	"split-brain-in-lag":       injectSplitBrainInLag,
	"stock-failover":           injectStockFailover,
}
