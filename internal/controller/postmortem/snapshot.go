package postmortem

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// snapshot is one machine at the moment of the record.
type snapshot[M client.Object] struct {
	*Recorder[M]
	m     M
	view  lifecycle.Machine
	facts postmortem.Facts
	class dialect.Class
	gaps  []string
}

// gap notes a fact that could not be read.
func (s *snapshot[M]) gap(what string, err error) { s.gaps = append(s.gaps, what+": "+err.Error()) }

func (s *snapshot[M]) query() node.Query {
	q := node.Query{Name: s.view.Recorded.NodeName, ProviderID: s.view.Recorded.ProviderID, MachineKey: s.view.Namespace + "/" + s.view.Name}
	for _, a := range s.view.Recorded.Addresses {
		if a.Type == corev1.NodeInternalIP {
			q.InternalIPs = append(q.InternalIPs, a.Address)
		}
	}
	return q
}

// secrets are those with which the machine was created. Texts about the machine may show them: consoles do.
func (s *snapshot[M]) secrets() postmortem.Redactor {
	values := [][]byte{s.class.UserData}
	for _, v := range s.class.Credentials {
		values = append(values, v)
	}
	return postmortem.NewRedactor(values...)
}

// patience bounds all requests to the infrastructure together.
const patience = 20 * time.Second

// record reads what it can.
func (s *snapshot[M]) record(ctx context.Context, now time.Time, cause postmortem.Cause) postmortem.Record {
	said := apis.Said(s.m)
	r := postmortem.Record{
		API: s.Dialect.API(), Namespace: s.view.Namespace, Name: s.view.Name, UID: s.view.UID,
		Cause: cause, Taken: now.UTC().Truncate(time.Second), Phase: said.Phase, Said: said.Statements,
		Node: status.Node(s.facts.Node), Events: s.events(ctx),
	}
	if o := metav1.GetControllerOfNoCopy(s.m); o != nil {
		r.Owner = o.Kind + "/" + o.Name
	}
	instance, console := s.infrastructure(ctx)
	names := []string{s.view.Recorded.NodeName}
	if instance != nil {
		r.Instance = described(*instance)
		names = append(names, instance.NodeName)
	}
	r.Console = console
	r.Requests = s.requests(ctx, names)
	r.Summary = s.summary(r)
	r.Moments = s.moments(r)
	r.Gaps = s.gaps
	return r
}

// summary is the fault in one line: for a machine that worked, its node's; else its object's.
func (s *snapshot[M]) summary(r postmortem.Record) string {
	if r.Cause == postmortem.NodeDeleted {
		return s.m.GetAnnotations()[dialect.DeletedBecauseAnnotation]
	}
	if r.Cause == postmortem.Unwell && s.facts.Looked {
		return "node " + s.view.Recorded.NodeName + ": " + lifecycle.Ailment(s.facts.Node, s.facts.Policy)
	}
	for _, about := range r.Said {
		if about.Message != "" && about.Status != string(corev1.ConditionTrue) && about.Status != "Successful" {
			return about.Message
		}
	}
	return ""
}

// moments are when the phases of the machine's life began.
func (s *snapshot[M]) moments(r postmortem.Record) (out []postmortem.Moment) {
	add := func(what string, at time.Time) {
		if !at.IsZero() {
			out = append(out, postmortem.Moment{What: what, At: at.UTC()})
		}
	}
	add(postmortem.MomentCreated, s.view.Created)
	for _, a := range s.view.Recorded.Requests {
		add("instance requested: "+a.Text(), a.At)
	}
	if r.Instance != nil {
		add("instance created", r.Instance.Created)
	}
	if r.Node != nil {
		add("node joined", r.Node.Created)
	}
	if r.Phase != "" {
		add("phase "+r.Phase, s.view.StageSince)
	}
	add(postmortem.MomentRequested, s.view.Deleted)
	slices.SortStableFunc(out, func(a, b postmortem.Moment) int { return a.At.Compare(b.At) })
	return out
}

// mostEvents is how many events are kept, the newest first.
const mostEvents = 20

func (s *snapshot[M]) events(ctx context.Context) []postmortem.Event {
	var list corev1.EventList
	err := s.Live.List(ctx, &list, client.InNamespace(s.view.Namespace), client.MatchingFields{"involvedObject.uid": s.view.UID})
	if err != nil {
		s.gap("events", err)
		return nil
	}
	all := status.Events(list.Items)
	return all[max(0, len(all)-mostEvents):]
}

func (s *snapshot[M]) requests(ctx context.Context, nodes []string) []postmortem.Request {
	if s.Requests == nil {
		return nil
	}
	out, err := s.Requests(ctx, s.view.UID, nodes...)
	if err != nil {
		s.gap("certificate requests", err)
	}
	return out
}

// infrastructure is the state of the machine's instance.
func (s *snapshot[M]) infrastructure(ctx context.Context) (*provider.Instance, string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	class, err := s.Resolver.Class(ctx, s.m)
	s.class = class
	if err != nil {
		s.gap("instance", err)
		return nil, ""
	}
	session, err := s.Provider.Open(ctx, class.Class)
	if err != nil {
		s.gap("instance", class.Objection(err))
		return nil, ""
	}
	ref := provider.Ref{UID: s.view.UID, Namespace: s.view.Namespace, Name: s.view.Name, ProviderID: s.view.Recorded.ProviderID}
	all, err := session.Find(ctx, ref)
	if err != nil {
		s.gap("instance", err)
		return nil, ""
	}
	i := s.own(all)
	if i == nil {
		return nil, ""
	}
	return i, s.console(ctx, session, ref, *i)
}

// own is the machine's instance; nil if it does not exist.
func (s *snapshot[M]) own(all []provider.Instance) *provider.Instance {
	i := slices.IndexFunc(all, func(i provider.Instance) bool {
		return s.view.Recorded.ProviderID != "" && i.ProviderID == s.view.Recorded.ProviderID
	})
	if i < 0 {
		i = slices.IndexFunc(all, func(i provider.Instance) bool { return i.UID == s.view.UID })
	}
	if i < 0 {
		return nil
	}
	return &all[i]
}

// mostConsole is how many bytes of the console are requested; the record keeps fewer.
const mostConsole = 16 << 10

func (s *snapshot[M]) console(ctx context.Context, session provider.Session, ref provider.Ref, i provider.Instance) string {
	c, ok := provider.As[provider.ConsoleReader](session)
	if !ok {
		return ""
	}
	text, err := c.Console(ctx, ref, i, mostConsole)
	if err != nil {
		s.gap("console", err)
	}
	return text[max(0, len(text)-mostConsole):]
}

func described(i provider.Instance) *postmortem.Instance {
	out := &postmortem.Instance{
		ID: i.ID, ProviderID: i.ProviderID, State: string(i.State), RawState: i.RawState, Type: i.Type, Zone: i.Zone, Created: i.Created.UTC(),
	}
	for _, a := range i.Addresses {
		out.Addresses = append(out.Addresses, string(a.Type)+" "+a.Address)
	}
	return out
}
