package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var pauseAtWork = declare(catalog.Scenario{
	Name:      "pause-at-work",
	Does:      "SIGSTOP in the middle of the work, until a second order has sold and the work is due to end",
	Instances: 2,
	Stops:     true,
}, injectPauseAtWork,
	on("v1 v12-naive", holds, "nothing expires: the others wait, and give up"),
	on("v1.5 v2 v3 v4", oversold, "it has no way to see that its lease has expired, and does not check"),
	on("v5 v5-as-printed", oversold,
		"the renewal timer is stopped with the process, and its result after the stop is not checked"),
	on("v5.5 v7 v8 v9 v10 v11", holds,
		"when it resumes, its clock shows that the lease has expired: the last check before the write sees that"),
	on("v6", holds, "when it resumes, its clock shows that the lease has expired, whatever the nodes say"),
	on("v9-nodes", holds, "as v6: when it resumes, its clock shows that the lease has expired"),
	on("v12", holds, "it counts its lease by its own clock as well as by the database's, and its own kept running"),
	on("v12-session", holds, "its connection is still open, so it still has its lock: the others wait, and give up"),
	on("v13 v14", holds,
		"its clock says that the server has heard nothing for a whole session: the last check sees that"),
	on("v15 v15-write-only", holds,
		"it checks its clock before it writes, so the stock does not have to refuse it, though it would"),
	on("v16", holds, "EXEC finds that the stock has changed since the read, and the order retries"),
	on("v17", holds, "its work comes before the script, and nothing was read that could be out of date"),
	needNoFault,
)

// injectPauseAtWork stops a in the middle of its work. Then b sells. When its work is due to end, a is resumed, so that
// its last check of the lease coincides with the events that report the loss.
func injectPauseAtWork(f *play) {
	f.warmUp()
	work := f.Load.TTL
	first := f.order(a, "anna", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: work, Wait: 4 * f.Load.TTL})
	first.waitHeld()
	first.endHold()
	begun := time.Now()
	first.stop()
	f.order(b, "bert", client.Order{Wait: f.secondWait()}).waitAnswered()
	f.sleepUntil(begun.Add(work))
	first.resume()
	first.note(begun, rig.StopFault(time.Since(begun), "at work", f.Load.TTL))
	first.waitAnswered()
}
