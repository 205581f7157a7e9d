package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is an account in a region, with cached answers.
type client struct {
	region    string
	endpoints endpoints
	http      *http.Client
	tokens    *tokens

	reads    kit.SharedReads
	resolved *kit.Memo[string]           // IDs of resources, by the spec's field and name
	profiles *kit.Memo[*instanceProfile] // by name
	leaving  *kit.Memo[struct{}]         // instances whose deletion VPC has accepted, by ID
	refusals *kit.Refusals               // of names and tags, by instance
}

// How long answers are cached.
const (
	aWhile = 5 * time.Minute
	aDay   = 24 * time.Hour
)

func newClient(clock provider.Clock, secret map[string][]byte, region string, e endpoints) (*client, error) {
	key, err := apiKeyOf(secret)
	if err != nil {
		return nil, err
	}
	h := &http.Client{Transport: transport}
	return &client{
		region: region, endpoints: e, http: h, tokens: newTokens(h, clock, e.iam, key),
		resolved: kit.NewMemo[string](clock, aWhile), profiles: kit.NewMemo[*instanceProfile](clock, aDay),
		leaving: kit.NewMemo[struct{}](clock, aWhile), refusals: kit.NewRefusals(clock, 2*aWhile),
	}, nil
}

// transport is Go's usual one, with more connections: all clients share it.
var transport = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}()

// request is a request to a service of IBM Cloud.
type request struct {
	method, url string
	query       url.Values
	body        any
}

// The parameters of each request to VPC: the version of the API, as a date, and the generation of its
// resources.
const (
	apiVersion = "2025-12-16"
	generation = "2"
)

// vpc is a request to VPC, in the client's region.
func (c *client) vpc(method, path string, parameters ...string) request {
	q := url.Values{"version": {apiVersion}, "generation": {generation}}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			q.Set(parameters[i], parameters[i+1])
		}
	}
	return request{method: method, url: c.endpoints.vpcIn(c.region) + path, query: q}
}

// call sends a request, and decodes its answer into out, which may be nil. A refused token may have expired:
// the call is repeated once with another one.
func (c *client) call(ctx context.Context, r request, out any) error {
	err := c.once(ctx, r, out)
	if a, ok := answerOf(err); ok && a.status == http.StatusUnauthorized {
		c.tokens.forget()
		err = c.once(ctx, r, out)
	}
	return err
}

func (c *client) once(ctx context.Context, r request, out any) error {
	t, err := c.tokens.get(ctx)
	if err != nil {
		return err
	}
	var body io.Reader
	if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	h, err := http.NewRequestWithContext(ctx, r.method, r.url+"?"+r.query.Encode(), body)
	if err != nil {
		return provider.Errorf(provider.Invalid, "the endpoint of IBM Cloud: %w", err)
	}
	if r.body != nil {
		h.Header.Set("Content-Type", "application/json")
	}
	h.Header.Set("Authorization", "Bearer "+t.text)
	return send(c.http, h, out)
}

// mostAnswer is the size of the largest accepted answer: a page of instances.
const mostAnswer = 64 << 20

// send sends a request. An answer of another status than success is an *[answer].
func send(h *http.Client, r *http.Request, out any) error {
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "millwright")
	reply, err := h.Do(r)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the query, which differs in each attempt
		}
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	defer func() { _ = reply.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(reply.Body, mostAnswer))
	if err != nil {
		return err
	}
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return readAnswer(reply, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return provider.Errorf(provider.Transient, "the answer of %s is not the JSON of IBM Cloud: is the endpoint correct, or does a proxy answer?", r.URL.Path)
	}
	return nil
}

// answer is an error that a service of IBM Cloud answers with.
type answer struct {
	status  int
	errors  []fault
	message string // of a service with another form of errors
	after   time.Duration
}

// fault is one error of an answer.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Target  struct {
		Name string `json:"name"`
	} `json:"target"`
}

// code is the code of the first error; empty if the answer has none.
func (a *answer) code() string {
	if len(a.errors) == 0 {
		return ""
	}
	return a.errors[0].Code
}

// Error has no ID of the request: a text in a status is the same after each attempt.
func (a *answer) Error() string {
	switch {
	case len(a.errors) > 0 && a.errors[0].Code != "":
		return provider.Clip(a.errors[0].Code+": "+a.errors[0].Message, 1000)
	case a.message != "":
		return provider.Clip(a.message, 1000)
	}
	return strconv.Itoa(a.status) + " " + http.StatusText(a.status)
}

func readAnswer(reply *http.Response, raw []byte) *answer {
	var body struct {
		Errors []fault `json:"errors"`
		// The form of IAM, and of other services.
		Code    string `json:"errorCode"`
		Text    string `json:"errorMessage"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &body) // the status counts if there is no JSON
	a := &answer{status: reply.StatusCode, errors: body.Errors, message: body.Message}
	if body.Code != "" {
		a.message = body.Code + ": " + body.Text
	}
	if seconds, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil {
		a.after = time.Duration(seconds) * time.Second
	}
	return a
}

func answerOf(err error) (*answer, bool) { return errors.AsType[*answer](err) }

// is reports whether the error is an answer with the status.
func is(err error, status int) bool {
	a, ok := answerOf(err)
	return ok && a.status == status
}

// mostOnPage is the most that VPC puts on a page.
const mostOnPage = "100"

// errNoList is the error of an answer without its list: it never means that nothing exists.
var errNoList = provider.Errorf(provider.Transient, "the answer has no list: is the endpoint correct, or does a proxy answer?")

// pages yields the elements of a collection of VPC, page by page. key is the name of the list in answers.
func pages[T any](ctx context.Context, c *client, key string, r request) iter.Seq2[T, error] {
	var none T
	return func(yield func(T, error) bool) {
		r.query.Set("limit", mostOnPage)
		for {
			var page map[string]json.RawMessage
			if err := c.call(ctx, r, &page); err != nil {
				yield(none, err)
				return
			}
			list, next, err := pageOf[T](page, key)
			if err == nil && next != "" && next == r.query.Get("start") { // else the listing would never end
				err = provider.Errorf(provider.Transient, "IBM Cloud names the same page twice")
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			r.query.Set("start", next)
		}
	}
}

// pageOf decodes a page. next is the start of the next page, from its link; empty for the last page.
func pageOf[T any](page map[string]json.RawMessage, key string) (list []T, next string, err error) {
	raw, ok := page[key]
	if !ok || json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, "", errNoList
	}
	var link struct {
		Href string `json:"href"`
	}
	if raw, ok := page["next"]; ok && json.Unmarshal(raw, &link) != nil {
		return nil, "", errNoList
	}
	if link.Href == "" {
		return list, "", nil
	}
	at, err := url.Parse(link.Href)
	if err != nil || at.Query().Get("start") == "" { // the listing is not complete
		return nil, "", provider.Errorf(provider.Transient, "the link to the next page has no start: %q", provider.Clip(link.Href, 200))
	}
	return list, at.Query().Get("start"), nil
}

// Account implements [provider.Session]: the ID of the account of the API key, which each token names.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.on(ctx, anyRegion)
	if err != nil {
		return "", err
	}
	t, err := c.tokens.get(ctx)
	return t.account, s.observe("ask for the account of the API key", err)
}

// anyRegion is the region of a client that only requests tokens, if no region is known: accounts have none.
const anyRegion = "us-south"
