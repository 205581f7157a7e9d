// Package collect reads facts from clusters for package explain. It writes nothing. If the user may not read an
// object, the answer has a gap.
package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Question is a user's question.
type Question struct {
	// Kind is one of [kinds], such as "Machine". API is empty if the user did not name an API.
	API, Kind, Name string
	// Namespace is the requested namespace; empty means all namespaces. Home is the namespace to search if the user
	// may not list all namespaces.
	Namespace, Home string
	// Everywhere means that the question is about all namespaces. Kind is then "Namespace", and Name is the name of
	// the cluster.
	Everywhere bool
	// Tree requests the sets and machines below the object, too.
	Tree bool
}

// kinds has the kinds, by the names and short names that kubectl accepts.
var kinds = map[string]string{
	"machine": "Machine", "machines": "Machine", "ma": "Machine",
	"machineset": "MachineSet", "machinesets": "MachineSet", "ms": "MachineSet",
	"machinedeployment": "MachineDeployment", "machinedeployments": "MachineDeployment", "md": "MachineDeployment",
	"mdp": "MachineDeployment", "mcd": "MachineDeployment",
	"machinehealthcheck": "MachineHealthCheck", "machinehealthchecks": "MachineHealthCheck", "mhc": "MachineHealthCheck",
	"machineclass": "MachineClass", "machineclasses": "MachineClass", "mcc": "MachineClass",
	"node": "Node", "nodes": "Node", "no": "Node",
	"certificatesigningrequest": "CertificateSigningRequest", "certificatesigningrequests": "CertificateSigningRequest", "csr": "CertificateSigningRequest",
	"namespace": "Namespace", "namespaces": "Namespace", "ns": "Namespace",
}

// Parse parses "machine/mill-a" or "machinesets.machine.sapcloud.io/mill". It fails for an unknown kind or API.
func Parse(arg string) (Question, error) {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return Question{}, fmt.Errorf("%q: want <kind>/<name>, for instance machine/mill-a", arg)
	}
	word, group, _ := strings.Cut(strings.ToLower(kind), ".")
	q := Question{Kind: kinds[word], Name: name, API: group}
	if version, rest, ok := strings.Cut(group, "."); ok && (version == "v1beta1" || version == "v1alpha1") {
		q.API = rest
	}
	switch {
	case q.Kind == "":
		return q, fmt.Errorf("%q: unknown kind %q: want %s", arg, word, strings.Join(Kinds(""), ", "))
	case q.API != "" && !slices.Contains(apis.Names(), q.API) && q.API != certificatesv1.GroupName:
		return q, fmt.Errorf("%q: unknown API %q: want %s", arg, q.API, strings.Join(apis.Names(), " or "))
	}
	return q, nil
}

// Clusters has readers of the clusters. A reader may answer from a cache.
type Clusters struct {
	// Control has the machines, Target has the nodes. Both are often the same cluster.
	Control, Target client.Reader
	// Departures are deletions of machines that the caller has observed, in addition to those that are stored.
	Departures []postmortem.Departure
}

// Gap is a fact that could not be read.
type Gap struct {
	// Leading means that the fact is about leader election and not about an object.
	Leading bool
	// API and Kind name the objects that could not be listed. Both are empty for other facts.
	API, Kind string
	Text      string
}

// look reads the facts for one answer.
type look struct {
	Clusters
	now  time.Time
	gaps []Gap
	// memo has the results of reads, by a key for each read. closely is the number of machines that were examined in
	// detail.
	memo    map[string]any
	closely int
	// many means that the answer is about many objects. look then lists the events of a namespace once.
	many bool
	// brief means that look reads only lists of objects and nodes.
	brief bool
}

// gap records an object that could not be read. An object that does not exist is not a gap.
func (l *look) gap(what string, err error) {
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	l.note(Gap{Text: what + ": " + err.Error()})
}

// note records a gap once.
func (l *look) note(g Gap) {
	if !slices.Contains(l.gaps, g) {
		l.gaps = append(l.gaps, g)
	}
}

func texts(gaps []Gap) (out []string) {
	for _, g := range gaps {
		out = append(out, g.Text)
	}
	return out
}

// Ask explains the object, the namespace or the cluster that q names. If no object or several objects have the name,
// the answer says so. Ask returns an error if it finds no object and a read fails. A forbidden read is a gap, not an
// error. For a namespace, Ask fails if it could read no kind.
func Ask(ctx context.Context, now time.Time, c Clusters, q Question) (explain.Answer, error) {
	l := &look{Clusters: c, now: now, memo: map[string]any{}}
	if q.Kind == "Namespace" {
		return l.overview(ctx, q)
	}
	found, err := l.find(ctx, q)
	if err != nil {
		return explain.Answer{}, err
	}
	s := explain.Subject{API: q.API, Kind: q.Kind, Namespace: q.Namespace, Name: q.Name}
	switch len(found) {
	case 0:
		return l.absent(ctx, q, s), nil
	case 1:
		a := l.explain(ctx, found[0])
		if q.Tree {
			b := l.tree(ctx, found[0], a)
			a.Tree, a.Gaps = &b, texts(l.gaps)
		}
		return a, nil
	}
	var all []explain.Subject
	for _, o := range found {
		all = append(all, subject(o))
	}
	return explain.Several(s, all, texts(l.gaps)), nil
}

func (l *look) explain(ctx context.Context, o client.Object) explain.Answer {
	return explained(ctx, l, o).Doubting(apis.Doubts(o))
}

func explained(ctx context.Context, l *look, o client.Object) explain.Answer {
	switch o := o.(type) {
	case *machinev1.Machine, *v1alpha1.Machine:
		return explain.Machine(l.now, l.machine(ctx, o))
	case *lenient.MachineHealthCheck:
		return explain.Check(l.now, l.check(ctx, o))
	case *v1alpha1.MachineClass:
		return explain.Class(l.now, l.class(ctx, o))
	case *corev1.Node:
		return l.ofNode(ctx, o)
	case *certificatesv1.CertificateSigningRequest:
		return l.request(ctx, o)
	}
	return explain.Group(l.now, l.group(ctx, o))
}

// find returns the objects that q may mean. It ignores an API that is not installed. It returns an error if it finds
// no object and a read fails. A forbidden read is a gap, not an error.
func (l *look) find(ctx context.Context, q Question) (found []client.Object, err error) {
	var failed []error
	for _, k := range kindsOf(q) {
		some, err := l.named(ctx, k, q)
		switch {
		case meta.IsNoMatchError(err):
		case err != nil && !apierrors.IsForbidden(err):
			failed = append(failed, fmt.Errorf("look for %s %s of %s: %w", strings.ToLower(q.Kind), q.Name, k.api, err))
		default:
			l.gap(k.plural()+"."+k.api, err)
		}
		found = append(found, some...)
	}
	if len(failed) > 0 && len(found) == 0 {
		return nil, errors.Join(failed...)
	}
	for _, e := range failed {
		l.gap("other API", e)
	}
	return found, nil
}

// named returns the objects of one kind with the name. If q has no namespace, named searches all namespaces, or the
// home namespace if the user may not list all.
func (l *look) named(ctx context.Context, k kind, q Question) (out []client.Object, err error) {
	if k.core() {
		o := k.object()
		if err := l.Target.Get(ctx, client.ObjectKey{Name: q.Name}, o); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return []client.Object{o}, nil
	}
	if q.Namespace == "" {
		list := k.list()
		err = l.Control.List(ctx, list, client.MatchingFields{"metadata.name": q.Name})
		if err == nil {
			return items(list), nil
		}
		if !apierrors.IsForbidden(err) {
			return nil, err
		}
	}
	o, key := k.object(), client.ObjectKey{Namespace: q.Namespace, Name: q.Name}
	if key.Namespace == "" {
		key.Namespace = q.Home
	}
	if err := l.Control.Get(ctx, key, o); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []client.Object{o}, nil
}

// absent answers a question about an object that does not exist: with a machine's evidence or leftover node, or with
// similar names.
func (l *look) absent(ctx context.Context, q Question, s explain.Subject) explain.Answer {
	if q.Kind == "Machine" {
		e, d := l.evidence(ctx, q, ""), departure(ctx, l, q)
		switch {
		case e != nil:
			s.API, s.Namespace = e.Record.API, e.Record.Namespace
			a := explain.Departed(l.now, s, *e, texts(l.gaps))
			if d != nil && d.UID == e.Record.UID {
				a = a.WithDeparture(*d)
			}
			return a
		case d != nil:
			s.API, s.Namespace = d.API, d.Namespace
			return explain.Deleted(l.now, s, *d, texts(l.gaps))
		}
		if n := leftover(ctx, l, q); n != nil {
			return explain.Leftover(l.now, s, n, texts(l.gaps))
		}
	}
	var kinds []string
	for _, k := range kindsOf(q) {
		kinds = append(kinds, strings.TrimSuffix(k.plural()+"."+k.api, "."))
	}
	return explain.NotFound(s, explain.Near(q.Name, Names(ctx, l.Clusters, q)), kinds, texts(l.gaps))
}
