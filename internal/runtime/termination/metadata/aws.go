package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// AWS is the instance metadata service of EC2, with tokens (IMDSv2).
type AWS struct {
	service service
	clock   clock.PassiveClock
	token   string
	expires time.Time
}

// NewAWS returns a client; an empty base is [LinkLocal]. It serves one caller at a time.
func NewAWS(h *http.Client, base string, c clock.PassiveClock) *AWS {
	return &AWS{service: newService(h, base), clock: c}
}

// The paths of the service.
const (
	awsToken       = "/latest/api/token"
	awsInstance    = "/latest/meta-data/instance-id"
	awsTermination = "/latest/meta-data/spot/termination-time"
	awsAction      = "/latest/meta-data/spot/instance-action"
	awsRebalance   = "/latest/meta-data/events/recommendations/rebalance"
	awsMaintenance = "/latest/meta-data/events/maintenance/scheduled"
)

// The lifetime of a token: the requested one, the longest possible, and how long before its end another one
// is fetched.
const (
	tokenLife   = 6 * time.Hour
	tokenMargin = time.Minute
)

// awsItem is an item that exists, with status 200, while there is a notice, and otherwise is answered with
// 404.
type awsItem struct {
	kind interruption.Kind
	path string
	read func(body string) ([]interruption.Notice, error)
}

var awsItems = []awsItem{
	{interruption.Termination, awsTermination, awsTerminationTime},
	{interruption.Termination, awsAction, awsInstanceAction},
	{interruption.Rebalance, awsRebalance, awsRebalanceNotice},
	{interruption.Maintenance, awsMaintenance, awsScheduledEvents},
}

// Look reads every item; once the instance is marked for termination, it stops, because the other items no
// longer matter and time is short. A missing item counts only if the same service also knows this instance:
// another server that answers 404 to everything has not withdrawn a notice.
func (a *AWS) Look(ctx context.Context, _ time.Duration) (interruption.Report, error) {
	r := interruption.Report{Clear: map[interruption.Kind]bool{}}
	var errs []error
	unclear := map[interruption.Kind]bool{}
	for _, item := range awsItems {
		if item.kind != interruption.Termination && r.Has(interruption.Termination) {
			return r, errors.Join(errs...)
		}
		notices, err := a.item(ctx, item)
		if err != nil {
			errs = append(errs, err)
		}
		unclear[item.kind] = unclear[item.kind] || err != nil || len(notices) > 0
		r.Notices = append(r.Notices, notices...)
	}
	if err := a.authentic(ctx); err != nil {
		return r, errors.Join(append(errs, err)...)
	}
	for _, k := range interruption.Kinds {
		r.Clear[k] = !unclear[k]
	}
	return r, errors.Join(errs...)
}

func (a *AWS) item(ctx context.Context, item awsItem) ([]interruption.Notice, error) {
	q := request{method: http.MethodGet, path: item.path, within: quick}
	answer, err := a.ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case answer.status == http.StatusNotFound:
		return nil, nil
	case answer.status/100 != 2:
		return nil, q.refused(answer)
	}
	notices, err := item.read(answer.body)
	if err != nil {
		return nil, q.strange(err.Error(), answer)
	}
	return notices, nil
}

// authentic fails unless the service knows which instance this is.
func (a *AWS) authentic(ctx context.Context) error {
	q := request{method: http.MethodGet, path: awsInstance, within: quick}
	answer, err := a.ask(ctx, q)
	switch {
	case err != nil:
		return err
	case answer.status != http.StatusOK:
		return q.refused(answer)
	case !strings.HasPrefix(answer.body, "i-"):
		return q.strange("the ID of an instance", answer)
	}
	return nil
}

// ask sends a request with a token. A refused token was revoked early, for example after a change of the
// instance's metadata options: then another one is fetched, once. If none can be fetched the request is sent
// without, as before tokens existed; a service that requires one answers 401.
func (a *AWS) ask(ctx context.Context, q request) (reply, error) {
	for try := 0; ; try++ {
		tokenless := a.renew(ctx)
		if tokenless != nil && ctx.Err() != nil {
			return reply{}, tokenless
		}
		q.header = nil
		if tokenless == nil {
			q.header = map[string]string{"X-aws-ec2-metadata-token": a.token}
		}
		answer, err := a.service.do(ctx, q)
		switch {
		case err != nil:
			return reply{}, errors.Join(err, tokenless)
		case answer.status != http.StatusUnauthorized:
			return answer, nil
		case tokenless != nil || try > 0:
			return reply{}, errors.Join(q.refused(answer), tokenless)
		}
		a.token = ""
	}
}

// renew fetches a token unless the present one is valid for a while.
func (a *AWS) renew(ctx context.Context) error {
	now := a.clock.Now()
	if a.token != "" && now.Before(a.expires.Add(-tokenMargin)) {
		return nil
	}
	a.token = ""
	q := request{
		method: http.MethodPut, path: awsToken, within: quick / 2,
		header: map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": strconv.Itoa(int(tokenLife / time.Second))},
	}
	answer, err := a.service.do(ctx, q)
	switch {
	case timedOut(err):
		return fmt.Errorf("%w: answers to %s go as many network hops as the instance's HttpPutResponseHopLimit says, 1 by default: run on the host's network", err, awsToken)
	case err != nil:
		return err
	case answer.status != http.StatusOK:
		return q.refused(answer)
	case !isToken(answer.body):
		return q.strange("a token", answer)
	}
	a.token, a.expires = answer.body, now.Add(tokenLife)
	if seconds, err := strconv.Atoi(answer.header.Get("X-aws-ec2-metadata-token-ttl-seconds")); err == nil && seconds > 0 {
		a.expires = now.Add(time.Duration(seconds) * time.Second)
	}
	return nil
}

// isToken reports whether text can be a header's value.
func isToken(text string) bool {
	return text != "" && len(text) < 1024 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' })
}

// awsTerminationTime returns a notice for any value, as in the original: if it is not a time the instance
// still ends, for another reason. A page is not a value: it comes from another server.
func awsTerminationTime(body string) ([]interruption.Notice, error) {
	body = strings.TrimSpace(body)
	if len(body) > 64 || strings.ContainsAny(body, "<>{}\n") {
		return nil, errors.New("a value")
	}
	n := interruption.Notice{Kind: interruption.Termination, Action: "terminate"}
	if at, err := time.Parse(time.RFC3339, body); err == nil {
		n.At = at
	}
	return []interruption.Notice{n}, nil
}

// awsInstanceAction reads {"action": "stop", "time": "2017-09-18T08:22:00Z"}. An
// instance that is stopped or hibernates leaves its node without a kubelet, too.
func awsInstanceAction(body string) ([]interruption.Notice, error) {
	var v struct {
		Action string    `json:"action"`
		Time   time.Time `json:"time"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Action == "" {
		return nil, errors.New("an action and its time")
	}
	return []interruption.Notice{{Kind: interruption.Termination, Action: v.Action, At: v.Time}}, nil
}

// awsRebalanceNotice reads {"noticeTime": "2020-10-27T08:22:00Z"}.
func awsRebalanceNotice(body string) ([]interruption.Notice, error) {
	var v struct {
		NoticeTime time.Time `json:"noticeTime"`
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.NoticeTime.IsZero() {
		return nil, errors.New("the time of a recommendation")
	}
	return []interruption.Notice{{
		Kind: interruption.Rebalance, Action: "rebalance recommendation",
		Detail: "since " + v.NoticeTime.UTC().Format(time.RFC3339),
	}}, nil
}

// awsEventTime is the format of times in scheduled events.
const awsEventTime = "2 Jan 2006 15:04:05 MST"

// awsScheduledEvents reads a list of events; it contains past ones for a while, and may be empty.
func awsScheduledEvents(body string) ([]interruption.Notice, error) {
	var events []struct {
		Code, State, NotBefore, Description string
	}
	if err := json.Unmarshal([]byte(body), &events); err != nil || events == nil {
		return nil, errors.New("a list of events")
	}
	var notices []interruption.Notice
	for _, e := range events {
		if e.Code == "" {
			return nil, errors.New("a list of events with codes")
		}
		if e.State == "completed" || e.State == "canceled" {
			continue
		}
		n := interruption.Notice{Kind: interruption.Maintenance, Action: e.Code, Detail: e.Description}
		if at, err := time.Parse(awsEventTime, e.NotBefore); err == nil {
			n.At = at
		}
		notices = append(notices, n)
	}
	return notices, nil
}
