package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/millwright-dev/millwright/provider"
)

// refused is a service's error answer, with the service's own text, without the SDK's around it.
type refused struct {
	status int
	// kind is Neutron's ("OverQuota"), or Nova's name of the fault ("forbidden").
	kind, message string
}

func (r *refused) Error() string { return fmt.Sprintf("%s (HTTP %d)", r.message, r.status) }

// answerOf returns the answer in an error, or nil.
func answerOf(err error) (*refused, http.Header) {
	if e, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return answerOf(e.ErrReauth)
	}
	if e, ok := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); ok {
		r, header := answerOf(e.ErrOriginal)
		if r != nil && r.status == http.StatusUnauthorized {
			r.message += ": " + withNewToken(e.ErrOriginal)
		}
		return r, header
	}
	e, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
	if !ok {
		return nil, nil
	}
	r := &refused{status: e.Actual}
	r.kind, r.message = said(e.Body)
	if r.message == "" {
		r.message = http.StatusText(e.Actual)
	}
	return r, e.ResponseHeader
}

// withNewToken returns the request that was refused although Keystone had just issued the token: for a
// request outside the access rules of an application credential, the middleware in front of services
// reports no more.
func withNewToken(err error) string {
	e, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
	if !ok {
		return "the token was just given"
	}
	path := e.URL
	if u, err := url.Parse(e.URL); err == nil {
		path = u.Path
	}
	return fmt.Sprintf("%s %s with a token that was just given: if the application credential has access rules, one for it is missing", e.Method, path)
}

var (
	anyTag = regexp.MustCompile(`(?s)<(title|style|script).*?</(title|style|script)>|<[^>]*>`)
	blanks = regexp.MustCompile(`\s+`)
)

const mostSaid = 500

// unquoted matches text that is not repeated: Nova quotes user data that it refuses, which may contain
// secrets.
var unquoted = regexp.MustCompile(`(?s)(field/attribute user_data\. Value: ).*?( is too long| is not .{0,40})?$`)

// said returns the message in a body, in any of the formats of OpenStack's services: an object with one key
// around code and message, or a page.
func said(body []byte) (kind, message string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		text := blanks.ReplaceAllString(anyTag.ReplaceAllString(string(body), " "), " ")
		return "", provider.Clip(strings.TrimSpace(text), mostSaid)
	}
	for name, raw := range all {
		var fault struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(raw, &fault) == nil && fault.Message != "" {
			if fault.Type != "" {
				name = fault.Type
			}
			return name, provider.Clip(strings.TrimSpace(unquoted.ReplaceAllString(fault.Message, "${1}(left out)$2")), mostSaid)
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			message = text
		}
	}
	return "", provider.Clip(message, mostSaid)
}

// refusalOf returns the answer in an error, also in a classified one, or nil.
func refusalOf(err error) *refused {
	if r, _ := answerOf(err); r != nil {
		return r
	}
	r, _ := errors.AsType[*refused](err)
	return r
}

// statusOf returns the status of the answer in an error, or 0.
func statusOf(err error) int {
	if r := refusalOf(err); r != nil {
		return r.status
	}
	return 0
}

// own reports whether a service itself answered: each names the fault. The page of an ingress without a
// service behind it says nothing about the requested object.
func (r *refused) own() bool { return r != nil && r.kind != "" }

// isGone reports whether a service says that an object does not exist.
func isGone(err error) bool {
	r := refusalOf(err)
	return r.own() && r.status == http.StatusNotFound
}

// portWent reports whether Neutron says that the port of another object does not exist.
func portWent(err error) bool {
	r := refusalOf(err)
	return r != nil && r.kind == "PortNotFound"
}

// noImage reports whether Glance says that there is no such image. It answers with a page, as an ingress
// does, but names the image.
func noImage(err error) bool {
	r := refusalOf(err)
	return r != nil && (r.status == http.StatusNotFound || r.status == http.StatusBadRequest) && strings.Contains(strings.ToLower(r.message), "image")
}

func isNoEndpoint(err error) bool {
	_, pointer := errors.AsType[*gophercloud.ErrEndpointNotFound](err)
	_, value := errors.AsType[gophercloud.ErrEndpointNotFound](err)
	return pointer || value
}

// classify classifies an error of the SDK by what the engine does about it. A 404 is Transient here: the
// callers that expect one handle it.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	r, header := answerOf(err)
	if r == nil {
		return noAnswer(err)
	}
	e := &provider.Error{Kind: kindOf(r), Err: r}
	switch e.Kind {
	case provider.Throttled:
		e.After = retryAfter(header)
	case provider.Exhausted:
		e.Scope = scopeOf(r.message)
	}
	return e
}

// noAnswer is the error without an answer, or with one that is no API's.
func noAnswer(err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[gophercloud.ErrUnexpectedType](err)
	if syntax || kind {
		return provider.Errorf(provider.Transient, "the answer is no JSON, so something else than OpenStack is behind the endpoint: %w", err)
	}
	return provider.Errorf(provider.Transient, "%w", err)
}

// exceeded matches the messages that a quota, or all addresses, are used up; "over a limit" is Keystone's
// (oslo.limit).
var exceeded = regexp.MustCompile(`(?i)quota|exceed|over a limit|no more ip addresses|no fixed ip addresses available|no more fixed ips|limit reached`)

// timing matches other uses of "exceeded" in the fault of a server: "Lock wait timeout exceeded", of a
// database.
var timing = regexp.MustCompile(`(?i)(timeout|time|depth) exceeded`)

// noRoom matches the messages that no host has room.
var noRoom = regexp.MustCompile(`(?i)no valid host|exceeded maximum number of retries|not enough hosts|insufficient compute resources`)

func kindOf(r *refused) provider.Kind {
	switch r.status {
	case http.StatusUnauthorized:
		return provider.Denied
	case http.StatusForbidden:
		// Nova reports quotas as 403, as it does policies.
		if exceeded.MatchString(r.message) {
			return provider.Exhausted
		}
		return provider.Denied
	case http.StatusTooManyRequests, 498:
		return provider.Throttled
	case http.StatusRequestEntityTooLarge:
		// Cinder reports quotas as 413, formerly also rate limits.
		if exceeded.MatchString(r.message) || strings.Contains(r.kind, "Quota") {
			return provider.Exhausted
		}
		return provider.Throttled
	case http.StatusConflict:
		if r.kind == "OverQuota" || r.kind == "IpAddressGenerationFailure" || exceeded.MatchString(r.message) {
			return provider.Exhausted
		}
		return provider.Conflict
	case http.StatusBadRequest, http.StatusNotAcceptable:
		if !r.own() {
			return provider.Transient
		}
		if noRoom.MatchString(r.message) || strings.Contains(strings.ToLower(r.message), "no fixed ip addresses available") {
			return provider.Exhausted
		}
		return provider.Invalid
	}
	if noRoom.MatchString(r.message) {
		return provider.Exhausted
	}
	return provider.Transient
}

// narrow are quotas that not all servers of a project need: of a server group, of a network's addresses, of
// volumes, of trunks, of special hardware, and of one server.
var narrow = regexp.MustCompile(`(?i)servers in group|server_?\s?group|ip addresses|fixed ips|volume|gigabytes|trunk|class:(custom|vgpu|pgpu|pci)|metadata items`)

// scopeOf returns the extent of an exhaustion: a quota is the project's, room is the flavor's in its zone.
// The narrowest possible scope keeps other machines going.
func scopeOf(message string) provider.Scope {
	if noRoom.MatchString(message) || narrow.MatchString(message) {
		return provider.ScopeType
	}
	return provider.ScopeAccount
}

// retryAfter reads the Retry-After header: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// atLogin classifies an error of Keystone. Unknown errors mean invalid credentials.
func atLogin(err error) error {
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusBadRequest {
		r, _ := answerOf(err)
		return provider.Errorf(provider.Denied, "%w", r)
	}
	if r, _ := answerOf(err); r == nil && isInput(err) {
		return provider.Errorf(provider.Denied, "the credentials are incomplete: %w", err)
	}
	return classify(err)
}

// isInput reports whether the SDK found the credentials incomplete before it sent a request.
func isInput(err error) bool {
	text := fmt.Sprintf("%T", err)
	return strings.HasPrefix(text, "gophercloud.Err") || strings.HasPrefix(text, "*gophercloud.Err")
}

// culprits are the texts by which Nova and Cinder name the refused part of a request, and the field of a
// plan that it came from.
var culprits = []struct {
	words *regexp.Regexp
	field string
}{
	{regexp.MustCompile(`(?i)volume type`), "volumeType"},
	{regexp.MustCompile(`(?i)flavor`), "flavor"},
	{regexp.MustCompile(`(?i)image`), "image"},
	{regexp.MustCompile(`(?i)availability.zone`), "zone"},
	{regexp.MustCompile(`(?i)key_name|key ?pair`), "key"},
	{regexp.MustCompile(`(?i)instance group|server group|serverGroup`), "group"},
	{regexp.MustCompile(`(?i)security group`), "groups"},
	{regexp.MustCompile(`(?i)attribute metadata|metadata`), "metadata"},
	{regexp.MustCompile(`(?i)user_data`), "userData"},
	{regexp.MustCompile(`(?i)attribute tags|\btags?\b|attribute \d+\. Value`), "tags"},
	{regexp.MustCompile(`(?i)network|fixed_?ip|subnet`), "networks"},
	{regexp.MustCompile(`(?i)block device|volume`), "disks"},
}

// racing matches Nova's messages about a port or a volume that another process takes or removes at the same
// time. When Cinder or Glance have another problem, Nova says that it failed to get something.
var racing = regexp.MustCompile(`(?i)^port (id )?\S+ (could not be found|is still in use)|failed to get (volume|image)|^invalid volume: .*status must be`)

// blame is classify for the creation of a server: it names the field of the spec.
func (p plan) blame(err error) error {
	err = classify(err)
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Invalid || e.Field != "" {
		return err
	}
	text := e.Error()
	if racing.MatchString(text) {
		return provider.Errorf(provider.Conflict, "%w", e.Err)
	}
	for _, c := range culprits {
		if c.words.MatchString(text) {
			return &provider.Error{Kind: provider.Invalid, Field: p.paths[c.field], Err: e.Err}
		}
	}
	return err
}

// faultOf returns the fault of a server that is in ERROR and never ran. Nova does not repair those, so the
// cause is final.
func faultOf(message string) *provider.Error {
	switch {
	case noRoom.MatchString(message), exceeded.MatchString(message) && !timing.MatchString(message):
		return provider.ExhaustedIn(scopeOf(message), "%s", message)
	}
	return provider.Errorf(provider.Invalid, "%s", message)
}
