package catalog

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean returns the end of a sentence about an unknown name: a question that proposes the nearest known one, or ""
// if none is near.
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

// distance is the number of letters to add, drop or replace. A swap of two neighbours counts as one.
func distance(name, known string) int {
	least := levenshtein.ComputeDistance(name, known)
	for i := 1; i < len(name) && len(name) <= 2*len(known); i++ {
		swapped := name[:i-1] + name[i:i+1] + name[i-1:i] + name[i+1:]
		least = min(least, levenshtein.ComputeDistance(swapped, known)+1)
	}
	return least
}
