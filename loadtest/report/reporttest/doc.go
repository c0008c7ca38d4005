// Package reporttest helps to test pages: a [Browser] opens them, and forged cells fill them.
package reporttest
