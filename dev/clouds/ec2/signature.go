package ec2

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Signature Version 4, as the IAM User Guide describes it under "Create a signed AWS API request".

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// signed has the parts of a request's signature.
type signed struct {
	key, day, region, service string
	headers                   []string
	signature                 string
	at                        string // X-Amz-Date
}

func signatureOf(r *http.Request) (signed, bool) {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return signed{}, false
	}
	return signed{
		key: m[1], day: m[2], region: m[3], service: m[4], headers: strings.Split(m[5], ";"), signature: m[6],
		at: r.Header.Get("X-Amz-Date"),
	}, true
}

// stale reports whether the request was signed too long ago. Signatures are valid for five minutes of real time; the
// simulator's clock has no effect on them.
func (s signed) stale(now time.Time) bool {
	at, err := time.Parse("20060102T150405Z", s.at)
	return err != nil || now.Sub(at).Abs() > 5*time.Minute || !strings.HasPrefix(s.at, s.day)
}

// holds reports whether the signature is valid for the secret.
func (s signed) holds(r *http.Request, body []byte, secret string) bool {
	if !slices.Contains(s.headers, "host") {
		return false
	}
	scope := s.day + "/" + s.region + "/" + s.service + "/aws4_request"
	sum := sha256.Sum256([]byte(s.canonical(r, body)))
	text := "AWS4-HMAC-SHA256\n" + s.at + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.day, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	want := hex.EncodeToString(mac(key, text))
	return subtle.ConstantTimeCompare([]byte(want), []byte(s.signature)) == 1
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (s signed) canonical(r *http.Request, body []byte) string {
	var headers strings.Builder
	for _, name := range s.headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	sum := sha256.Sum256(body)
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	return strings.Join([]string{
		r.Method, path, strings.ReplaceAll(query(r.URL), "+", "%20"), headers.String(), strings.Join(s.headers, ";"), hex.EncodeToString(sum[:]),
	}, "\n")
}

// query is the canonical query, whose parameters are sorted by name.
func query(u *url.URL) string { return u.Query().Encode() }
