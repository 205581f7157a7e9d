package provider

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "..."

// Clip cuts text to at most most bytes (3 or more); a text that was cut ends in "...". Bytes that are not
// UTF-8 are left out, since no API server accepts them.
//
// Texts from infrastructures, nodes and users can have any length: clip them before you copy them into an
// object, an event or a metric.
func Clip(text string, most int) string {
	if len(text) > most {
		// A character that is cut in two is removed.
		text = strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "")
}
