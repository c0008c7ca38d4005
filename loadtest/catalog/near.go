package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostNear is the number of names that are proposed for one that is not known.
const mostNear = 3

// DidYouMean proposes those of the known names that are like a name which is none of them, as a question that ends a
// sentence. It is empty if none is.
func DidYouMean(name string, known []string) string {
	type candidate struct {
		name string
		far  int
	}
	var near []candidate
	for _, k := range known {
		far := distance(strings.ToLower(name), k)
		if len(name) >= 3 && strings.HasPrefix(k, strings.ToLower(name)) {
			far = 1
		}
		if far <= max(1, (len(name)+1)/3) {
			near = append(near, candidate{k, far})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range near[:min(len(near), mostNear)] {
		if c.far == near[0].far {
			names = append(names, fmt.Sprintf("%q", c.name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", did you mean " + strings.Join(names, " or ") + "?"
}

// distance returns how many bytes have to be inserted, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
