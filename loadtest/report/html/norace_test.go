//go:build !race

package html_test

const race = false
