package catalog

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean returns the end of a sentence about a name that is not known: a question that proposes the known name that
// is most like it. It is empty if none is.
func DidYouMean(name string, known []string) string {
	near, least := "", max(1, (len(name)+1)/3)+1
	for _, k := range known {
		far := levenshtein.ComputeDistance(strings.ToLower(name), k)
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
