package report

import (
	"math"
	"slices"
)

// Percentile returns the smallest of the sorted values that is at least as great as that share of them: 0.99 for p99.
// Without values it returns NaN.
func Percentile(sorted []int64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(share * float64(len(sorted))))
	return float64(sorted[min(max(rank, 1), len(sorted))-1])
}

// Median returns the middle value, or the mean of the two in the middle. It leaves out NaN; without values it returns
// NaN.
func Median(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(sorted) == 0 {
		return math.NaN()
	}
	slices.Sort(sorted)
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// MostOverMean returns how much more the busiest worker did than the average one: 1 is fair, and the number of workers
// means that one of them did everything.
func MostOverMean(done []int64) float64 {
	var sum, most int64
	for _, n := range done {
		sum, most = sum+n, max(most, n)
	}
	if sum == 0 {
		return math.NaN()
	}
	return float64(most) * float64(len(done)) / float64(sum)
}

// Ratios divides a by b round by round, and returns the median. A round that one of them lacks is left out. What drifts
// from one round to the next, as the speed of a shared machine does, is not in it.
func Ratios(a, b map[int]float64) float64 {
	var ratios []float64
	for round, value := range a {
		if other, ok := b[round]; ok && other != 0 {
			ratios = append(ratios, value/other)
		}
	}
	return Median(ratios)
}
