package postmortem

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// mask replaces secrets. It is shorter than any secret that is searched for, so that the replacement
// terminates.
const mask = "***"

// shortest is the length in bytes from which a value counts as a secret. Otherwise "eu1" or "true" in a
// secret would remove words from every message.
const shortest = len(mask) + 1

// Redactor removes secrets from texts: those it knows, in any spelling, and texts that look like a secret.
type Redactor struct{ known []string }

// NewRedactor knows the given values, and each line of those that have several, like a key in PEM. It ignores
// values shorter than 4 bytes.
func NewRedactor(values ...[]byte) Redactor {
	var r Redactor
	for _, v := range values {
		text := string(v)
		r.add(text)
		r.add(strings.TrimSpace(text))
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= 2*shortest {
				r.add(line)
			}
		}
	}
	// The longer ones first: one may be part of another.
	slices.SortFunc(r.known, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.known = slices.Compact(r.known)
	return r
}

// add knows a value in the spellings in which programs print it.
func (r *Redactor) add(v string) {
	quoted, err := json.Marshal(v)
	spellings := []string{v, url.QueryEscape(v), url.PathEscape(v)}
	if err == nil {
		spellings = append(spellings, string(quoted[1:len(quoted)-1]))
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		spellings = append(spellings, e.EncodeToString([]byte(v)))
	}
	for _, s := range spellings {
		if len(s) >= shortest && len(v) >= shortest {
			r.known = append(r.known, s)
		}
	}
}

// shape is the pattern of a kind of secret, and its replacement.
type shape struct {
	pattern *regexp.Regexp
	left    string
}

// shapes are matched in this order.
var shapes = []shape{
	// Keys and certificates, also if the end is cut off.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`), mask},
	{regexp.MustCompile(`(?s)\A[A-Za-z0-9+/=\s]+-----END [A-Z0-9 ]+-----`), mask},
	// Names and passwords in addresses.
	{regexp.MustCompile(`://[^/\s@]+@`), "://" + mask + "@"},
	// Headers.
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}`), "$1 " + mask},
	// Settings whose name says it: password=…, "token": "…", userData: ….
	{regexp.MustCompile(`(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|access[_-]?key[_-]?id|` +
		`private[_-]?key|credentials?|user[_-]?data|custom[_-]?data|authorization)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;]+)`), "${1}" + mask},
	// Flags: --token …, --discovery-token ….
	{regexp.MustCompile(`(?i)(--?[a-z-]*(?:password|token|secret|key)\s+)[^\s-]\S*`), "${1}" + mask},
	// Bootstrap tokens, signed web tokens, keys of well-known infrastructures.
	{regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), mask},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_-]*`), mask},
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b`), mask},
	// Long runs without a break: user data in base64, and keys.
	{regexp.MustCompile(`[A-Za-z0-9+/_=]{80,}`), mask},
}

// Text returns text without secrets.
func (r Redactor) Text(text string) string {
	text = r.strip(strings.ToValidUTF8(text, ""))
	for _, s := range shapes {
		text = s.pattern.ReplaceAllString(text, s.left)
	}
	// A replacement may have joined the parts of another secret.
	return r.strip(text)
}

// strip replaces known secrets until none is left; each time the text gets shorter.
func (r Redactor) strip(text string) string {
	for again := true; again; {
		again = false
		for _, secret := range r.known {
			if strings.Contains(text, secret) {
				text, again = strings.ReplaceAll(text, secret, mask), true
			}
		}
	}
	return text
}
