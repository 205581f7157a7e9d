package provider

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "..."

// Clip is text of at most most bytes (3 or more), which ends in "..." where
// something is missing. Bytes that are no UTF-8 are left out, since no API
// server would take them.
//
// What infrastructures, nodes and users write can be of any length; whoever
// copies it into an object, an event or a metric clips it first.
func Clip(text string, most int) string {
	if len(text) > most {
		// Of a character that is cut in two, nothing is left.
		text = strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "")
}
