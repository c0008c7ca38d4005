package explore

import "testing"

// BenchmarkSchedules runs all schedules of v4 with one expiry repeatedly, and reports schedules per second. A search
// uses one core: run it with -cpu 1.
func BenchmarkSchedules(b *testing.B) {
	schedules := 0
	every := func(string, string) (bool, error) { return true, nil }
	// A bubble needs a test; a benchmark is not one.
	testing.RunTests(every, []testing.InternalTest{{Name: "schedules", F: func(t *testing.T) {
		if schedules > 0 { // with -count, each benchmark runs the test that many times
			return
		}
		for b.Loop() {
			bounds := DefaultBounds().With(1, FaultKinds[0])
			bounds.Plain = true
			cell, err := Explore(t, "v4", bounds)
			if err != nil {
				t.Fatal(err)
			}
			schedules += cell.Schedules
		}
	}}})
	b.ReportMetric(float64(schedules)/b.Elapsed().Seconds(), "schedules/s")
}
