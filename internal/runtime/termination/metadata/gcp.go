package metadata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// GCP is the metadata server of Compute Engine.
type GCP struct {
	service service
	// etag is the state of "preempted" of the last answer.
	etag string
}

// NewGCP returns a client; an empty base is [LinkLocal]. It serves one caller at a time.
func NewGCP(h *http.Client, base string) *GCP {
	return &GCP{service: newService(h, base)}
}

const (
	gcpPreempted   = "/computeMetadata/v1/instance/preempted"
	gcpMaintenance = "/computeMetadata/v1/instance/maintenance-event"
	gcpFlavor      = "Metadata-Flavor"
	gcpGoogle      = "Google"
)

// gcpGrace is the time of an instance from the moment of its preemption.
const gcpGrace = 30 * time.Second

// Look reads the preemption, waiting up to hold for a change, and then the maintenance, which does not matter
// to a preempted instance. The first call does not wait.
func (g *GCP) Look(ctx context.Context, hold time.Duration) (interruption.Report, error) {
	r := interruption.Report{Clear: map[interruption.Kind]bool{interruption.Rebalance: true}}
	preempted, err := g.preempted(ctx, hold)
	switch {
	case err != nil:
		err = fmt.Errorf("ask whether this instance is preempted: %w", err)
	case preempted:
		r.Notices = []interruption.Notice{{Kind: interruption.Termination, Action: "preempt", Grace: gcpGrace}}
		return r, nil
	default:
		r.Clear[interruption.Termination] = true
	}
	event, trouble := g.maintenance(ctx)
	switch {
	case trouble != nil:
		trouble = fmt.Errorf("ask for maintenance: %w", trouble)
	case event != "":
		r.Notices = []interruption.Notice{{Kind: interruption.Maintenance, Action: event}}
	default:
		r.Clear[interruption.Maintenance] = true
	}
	return r, errors.Join(err, trouble)
}

// preempted reads TRUE or FALSE.
func (g *GCP) preempted(ctx context.Context, hold time.Duration) (bool, error) {
	q := gcpRequest(gcpPreempted)
	if hold >= time.Second && g.etag != "" {
		q.path += "?" + url.Values{
			"wait_for_change": {"true"}, "last_etag": {g.etag}, "timeout_sec": {strconv.Itoa(int(hold / time.Second))},
		}.Encode()
		q.within += hold
	}
	g.etag = ""
	answer, err := g.ask(ctx, q)
	if err != nil {
		return false, err
	}
	value := strings.TrimSpace(answer.body)
	switch {
	case answer.status != http.StatusOK:
		return false, q.refused(answer)
	case value != "TRUE" && value != "FALSE":
		return false, q.strange("TRUE or FALSE", answer)
	}
	g.etag = answer.header.Get("ETag")
	return value == "TRUE", nil
}

// maintenance returns the planned event: a word such as TERMINATE_ON_HOST_MAINTENANCE, empty for NONE.
// Machine types without maintenance lack the item.
func (g *GCP) maintenance(ctx context.Context) (event string, err error) {
	q := gcpRequest(gcpMaintenance)
	answer, err := g.ask(ctx, q)
	if err != nil {
		return "", err
	}
	event = strings.TrimSpace(answer.body)
	switch {
	case answer.status == http.StatusNotFound:
		return "", nil
	case answer.status != http.StatusOK:
		return "", q.refused(answer)
	case !gcpWord.MatchString(event):
		return "", q.strange("an event", answer)
	case event == "NONE":
		return "", nil
	}
	return event, nil
}

var gcpWord = regexp.MustCompile(`^[A-Z][A-Z_]{1,63}$`)

func gcpRequest(path string) request {
	return request{method: http.MethodGet, path: path, header: map[string]string{gcpFlavor: gcpGoogle}, within: quick}
}

// ask accepts only answers of the metadata server, which marks each of them.
func (g *GCP) ask(ctx context.Context, q request) (reply, error) {
	answer, err := g.service.do(ctx, q)
	if err == nil && answer.header.Get(gcpFlavor) != gcpGoogle {
		err = fmt.Errorf("GET %s: %d %s, which does not come from the metadata server: the header %s: %s is missing",
			q.path, answer.status, http.StatusText(answer.status), gcpFlavor, gcpGoogle)
	}
	return answer, err
}
