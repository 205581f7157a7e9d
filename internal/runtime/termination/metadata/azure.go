package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// Azure is the instance metadata service of Azure, with its Scheduled Events.
type Azure struct {
	service service
	// version is the API version of Scheduled Events that is served here; empty while unknown.
	version string
	// name is that of this virtual machine; empty while unknown.
	name string
	// warm says that Scheduled Events have answered before.
	warm bool
}

// NewAzure returns a client; an empty base is [LinkLocal]. It serves one caller at a time.
func NewAzure(h *http.Client, base string) *Azure {
	return &Azure{service: newService(h, base)}
}

// The versions of Scheduled Events, the preferred one first: the other one is for regions and clouds that do
// not have it yet.
var azureVersions = []string{"2024-07-09", "2020-07-01"}

const (
	azureEvents = "/metadata/scheduledevents?api-version="
	azureName   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
)

// azureFirst is how long the first answer may take: the first request enables Scheduled Events for the
// virtual machine, which takes up to two minutes.
const azureFirst = 150 * time.Second

var azureHeader = map[string]string{"Metadata": "true"}

// azureKinds are the types of events. Preempt and SpotRebalanceRecommendation
// count as terminations, as in the original; Terminate announces a deletion.
var azureKinds = map[string]interruption.Kind{
	"Preempt":                     interruption.Termination,
	"SpotRebalanceRecommendation": interruption.Termination,
	"Terminate":                   interruption.Termination,
	"Reboot":                      interruption.Maintenance,
	"Redeploy":                    interruption.Maintenance,
	"Freeze":                      interruption.Maintenance,
}

// azureDocument is the answer of Scheduled Events.
type azureDocument struct {
	Events []azureEvent `json:"Events"`
}

type azureEvent struct {
	EventType   string
	Resources   []string
	NotBefore   string
	Description string
}

// Look reads the events about this virtual machine: the list has those of its whole scale set or availability
// set. A list is always complete.
func (z *Azure) Look(ctx context.Context, _ time.Duration) (interruption.Report, error) {
	if err := z.learnName(ctx); err != nil {
		return interruption.Report{}, fmt.Errorf("learn the name of this virtual machine: %w", err)
	}
	document, err := z.events(ctx)
	if err != nil {
		return interruption.Report{}, err
	}
	var r interruption.Report
	for _, e := range document.Events {
		if n, mine := z.notice(e); mine {
			r.Notices = append(r.Notices, n)
		}
	}
	r.Clear = map[interruption.Kind]bool{}
	for _, k := range interruption.Kinds {
		r.Clear[k] = !r.Has(k)
	}
	return r, nil
}

// learnName reads the name that events use.
func (z *Azure) learnName(ctx context.Context) error {
	if z.name != "" {
		return nil
	}
	q := request{method: http.MethodGet, path: azureName, header: azureHeader, within: quick}
	answer, err := z.service.do(ctx, q)
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK {
		return q.refused(answer)
	}
	name := strings.TrimSpace(answer.body)
	if name == "" || len(name) > 128 || strings.ContainsAny(name, " <>{}\n") {
		return q.strange("a name", answer)
	}
	z.name = name
	return nil
}

// notice returns the part of an event about this virtual machine. An unknown type counts as maintenance.
func (z *Azure) notice(e azureEvent) (n interruption.Notice, mine bool) {
	for _, resource := range e.Resources {
		mine = mine || strings.EqualFold(resource, z.name)
	}
	if !mine {
		return n, false
	}
	kind, known := azureKinds[e.EventType]
	if !known {
		kind = interruption.Maintenance
	}
	n = interruption.Notice{Kind: kind, Action: e.EventType, Detail: e.Description}
	// Empty once the event has begun.
	if at, err := http.ParseTime(e.NotBefore); err == nil {
		n.At = at
	}
	return n, true
}

// events reads the list, in the newest version that is served.
func (z *Azure) events(ctx context.Context) (azureDocument, error) {
	versions := azureVersions
	if z.version != "" {
		versions = []string{z.version}
	}
	var errs []error
	for _, version := range versions {
		document, missing, err := z.eventsIn(ctx, version)
		if err == nil {
			z.version, z.warm = version, true
			return document, nil
		}
		errs = append(errs, err)
		if !missing {
			break
		}
		z.version = ""
	}
	return azureDocument{}, errors.Join(errs...)
}

// patience returns how long an answer of Scheduled Events may take.
func (z *Azure) patience() time.Duration {
	if z.warm {
		return quick
	}
	return azureFirst
}

// eventsIn reads the list in one version. Missing says that this version is not served: 404, or 400, with
// which the service answers unknown versions.
func (z *Azure) eventsIn(ctx context.Context, version string) (document azureDocument, missing bool, err error) {
	q := request{method: http.MethodGet, path: azureEvents + version, header: azureHeader, within: z.patience()}
	answer, err := z.service.do(ctx, q)
	if err != nil {
		return document, false, err
	}
	if answer.status != http.StatusOK {
		return document, answer.status == http.StatusNotFound || answer.status == http.StatusBadRequest, q.refused(answer)
	}
	if err := json.Unmarshal([]byte(answer.body), &document); err != nil || document.Events == nil {
		return azureDocument{}, false, q.strange("a document with Events", answer)
	}
	for _, e := range document.Events {
		if e.EventType == "" || len(e.Resources) == 0 {
			return azureDocument{}, false, q.strange("a document whose events name a type and resources", answer)
		}
	}
	return document, false, nil
}
