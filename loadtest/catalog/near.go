package catalog

import (
	"fmt"
	"strings"
)

// DidYouMean proposes that of the known names which is most like a name that is none of them, as a question that ends a
// sentence. It is empty if none is like it.
func DidYouMean(name string, known []string) string {
	near, least := "", max(1, (len(name)+1)/3)+1
	for _, k := range known {
		far := distance(strings.ToLower(name), k)
		if len(name) >= 3 && strings.HasPrefix(k, strings.ToLower(name)) {
			far = 1
		}
		if far < least {
			near, least = k, far
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", near)
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
