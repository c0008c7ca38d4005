// Package rig starts instances behind wires, so that a fault can be injected between their commands.
//
//   - rig.go: servers and instances with wires between them. scripts.go: the names of scripts.
package rig
