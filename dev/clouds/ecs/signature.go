package ecs

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the older signature of Alibaba Cloud
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The signatures, as the pages "V3 request body and signature mechanism" and "V2 RPC request body and signature
// mechanism" of Alibaba Cloud describe them.

var authorization = regexp.MustCompile(`^ACS3-HMAC-SHA256 Credential=([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$`)

// signed has the parts of a request's signature.
type signed struct {
	key, token, at string
	// holds reports whether the signature was computed with a secret.
	holds func(secret string) bool
}

// signatureOf reads the signature of a request; false if it has none.
func signatureOf(r *http.Request, body []byte, values url.Values) (signed, bool) {
	if m := authorization.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		return signed{
			key: m[1], token: r.Header.Get("X-Acs-Security-Token"), at: r.Header.Get("X-Acs-Date"),
			holds: func(secret string) bool { return m[3] == newSignature(r, body, strings.Split(m[2], ";"), secret) },
		}, true
	}
	if values.Get("Signature") == "" || values.Get("AccessKeyId") == "" {
		return signed{}, false
	}
	return signed{
		key: values.Get("AccessKeyId"), token: values.Get("SecurityToken"), at: values.Get("Timestamp"),
		holds: func(secret string) bool { return values.Get("Signature") == oldSignature(r.Method, values, secret) },
	}, true
}

// mostAge is how long a signature is valid, in real time.
const mostAge = 15 * time.Minute

func (s signed) stale(now time.Time) bool {
	at, err := time.Parse(time.RFC3339, s.at)
	return err != nil || now.Sub(at).Abs() > mostAge
}

// escape escapes a text as RFC 3986 demands.
func escape(text string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(text))
}

// sorted is the query in the order of its keys, with each text escaped.
func sorted(values url.Values) string {
	parts := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, escape(key)+"="+escape(values.Get(key)))
	}
	return strings.Join(parts, "&")
}

func newSignature(r *http.Request, body []byte, headers []string, secret string) string {
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + sorted(r.URL.Query()) + "\n")
	for _, name := range headers {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical.WriteString("\n" + strings.Join(headers, ";") + "\n" + hash(body))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hash([]byte(canonical.String()))))
	return hex.EncodeToString(mac.Sum(nil))
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func oldSignature(method string, values url.Values, secret string) string {
	signed := maps.Clone(values)
	delete(signed, "Signature")
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(method + "&" + escape("/") + "&" + escape(sorted(signed))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
