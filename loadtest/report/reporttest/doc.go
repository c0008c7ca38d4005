// Package reporttest has helpers for tests of pages: a [Browser] to open them, and forged cells to fill them.
package reporttest
