package drawing

import _ "embed"

var (
	//go:embed unpack.js
	unpack string
	//go:embed timeline.js
	timeline string
	//go:embed palette.css
	palette string
	//go:embed timeline.css
	style string
)

// Viewer is the script with viewTimeline, for a page that is read. It needs [Script].
//
//go:embed viewer.js
var Viewer string

// ViewerStyle is what its controls, its card and its list look like.
//
//go:embed viewer.css
var ViewerStyle string

// Script returns the script with unpackDrawing and drawTimeline.
func Script() string { return unpack + timeline }

// Style returns the colours, and what a timeline looks like.
func Style() string { return palette + style }
