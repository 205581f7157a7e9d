package postmortem

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,verbs=get;list;create;delete
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=events,verbs=list

// Request is a pending certificate request in a record.
type Request = postmortem.Request

// DefaultPolicy is the default limit of records.
func DefaultPolicy() postmortem.Policy { return postmortem.DefaultPolicy() }

// Options are what a [Recorder] is made of.
type Options[M client.Object] struct {
	Dialect dialect.Machines[M]
	// Resolver reads the classes of machines.
	Resolver dialect.Resolver[M]
	// Client reads machines, and writes records. Live reads records and events from the API server: they
	// are not worth a watch.
	Client client.Client
	Live   client.Reader
	// Provider reports the state of instances.
	Provider provider.Provider
	// Nodes finds the machines' nodes; nil if they join no cluster.
	Nodes *node.Cluster
	// Requests are the pending certificate requests of the machine with this UID, or of nodes with these
	// names; nil if no approver runs.
	Requests func(ctx context.Context, uid string, nodes ...string) ([]postmortem.Request, error)
	Clock    clock.WithTicker
	Policy   postmortem.Policy
	// Namespace of the machines; empty is all.
	Namespace string
}

// Recorder keeps the evidence about machines of one API.
type Recorder[M client.Object] struct {
	Options[M]
	memory *memory
	// leaving are the machines whose deletion is not recorded yet.
	leaving *leaving
}

// New returns a recorder.
func New[M client.Object](o Options[M]) *Recorder[M] {
	return &Recorder[M]{Options: o, memory: newMemory(), leaving: &leaving{}}
}

// Reconcile records the evidence about one machine, if there is any, once.
func (k *Recorder[M]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := k.Dialect.New()
	if err := k.Client.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if k.memory.judged(m.GetUID()) {
		return ctrl.Result{}, nil
	}
	s := k.look(ctx, m)
	if m.GetDeletionTimestamp() != nil {
		k.leaving.begin(departures.Of(m, s.facts.Node))
	}
	cause, worth := postmortem.Worth(s.facts)
	if !worth {
		if m.GetDeletionTimestamp() != nil {
			k.memory.judge(m.GetUID()) // later its node is deleted in any case
		}
		return ctrl.Result{}, nil
	}
	if err := k.keep(ctx, s, cause); err != nil {
		return ctrl.Result{}, err
	}
	k.memory.judge(m.GetUID())
	return ctrl.Result{}, nil
}

// look reads the facts that decide whether there is evidence to keep.
func (k *Recorder[M]) look(ctx context.Context, m M) *snapshot[M] {
	s := &snapshot[M]{Recorder: k, m: m, view: k.Dialect.View(m)}
	s.facts = postmortem.Facts{
		Machine: s.view, Policy: k.Dialect.Policy(m), Was: k.memory.before(m.GetUID(), s.view.Stage),
		Replaced: m.GetAnnotations()[dialect.DeletedBecauseAnnotation] != "",
	}
	if s.facts.Policy.Targetless || s.view.Stage == lifecycle.StageDetached {
		return s
	}
	n, err := k.Nodes.Find(ctx, s.query())
	s.facts.Node, s.facts.Looked = n, err == nil
	if err != nil {
		s.gap("node", err)
	}
	return s
}

// keep stores the evidence, unless it is stored already or there is no room. If storing is forbidden, it
// does not retry for ever.
func (k *Recorder[M]) keep(ctx context.Context, s *snapshot[M], cause postmortem.Cause) error {
	key := client.ObjectKey{Namespace: s.view.Namespace, Name: status.StoredName(s.view.Name, s.view.UID)}
	var stored corev1.ConfigMap
	err := k.Live.Get(ctx, key, &stored)
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		log.FromContext(ctx).Error(err, "evidence cannot be kept", "machine", s.view.Name)
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look for evidence %s: %w", key, err)
	}
	room, err := k.makeRoom(ctx, s.view.Namespace)
	if err != nil || !room {
		return err
	}
	now := k.Clock.Now()
	record := s.record(ctx, now, cause)
	raw, err := postmortem.Encode(record, s.secrets(), k.Policy.Size)
	if err != nil {
		return err
	}
	err = k.Client.Create(ctx, status.Stored(record, raw, now.Add(k.Policy.For)))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keep evidence %s: %w", key, err)
	}
	log.FromContext(ctx).Info("evidence kept", "configmap", key.Name, "cause", cause, "bytes", len(raw))
	return nil
}

// makeRoom deletes expired records, and the oldest if there are too many; false if the records of a storm
// take the room.
func (k *Recorder[M]) makeRoom(ctx context.Context, namespace string) (bool, error) {
	list, err := k.stored(ctx, namespace)
	if err != nil {
		return false, err
	}
	kept := make([]postmortem.Kept, len(list.Items))
	for i := range list.Items {
		kept[i] = status.Kept(&list.Items[i])
	}
	drop, room := k.Policy.Admit(k.Clock.Now(), kept)
	for _, name := range drop {
		if err := k.drop(ctx, client.ObjectKey{Namespace: namespace, Name: name}); err != nil {
			return false, err
		}
	}
	if !room {
		log.FromContext(ctx).Info("evidence not kept: so much was kept within the hour that more of it tells nothing", "kept", len(kept))
	}
	return room, nil
}

func (k *Recorder[M]) stored(ctx context.Context, namespace string) (*corev1.ConfigMapList, error) {
	var list corev1.ConfigMapList
	err := k.Live.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{status.Label: status.LabelValue})
	if err != nil {
		return nil, fmt.Errorf("list evidence: %w", err)
	}
	return &list, nil
}

func (k *Recorder[M]) drop(ctx context.Context, key client.ObjectKey) error {
	c := &corev1.ConfigMap{}
	c.Namespace, c.Name = key.Namespace, key.Name
	if err := k.Client.Delete(ctx, c); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("drop evidence %s: %w", key, err)
	}
	return nil
}

// sweepEvery is how often expired records are looked for.
const sweepEvery = time.Hour

// lastWrite is how long the last write may take when the process ends.
const lastWrite = 2 * time.Second

// Start drops expired records, and stores the deleted machines, until ctx ends.
func (k *Recorder[M]) Start(ctx context.Context) error {
	tick := k.Clock.NewTicker(flushEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		if now := k.Clock.Now(); swept.IsZero() || now.Sub(swept) >= sweepEvery {
			swept = now
			if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "expired evidence is still there")
			}
		}
		select {
		case <-ctx.Done():
			last, end := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer end()
			if err := k.Flush(last); err != nil {
				log.FromContext(ctx).Info("the machines that were deleted last are not recorded", "error", err.Error())
			}
			return nil
		case <-tick.C():
		}
		if err := k.Flush(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("deleted machines are not recorded yet", "error", err.Error())
		}
	}
}

// Sweep drops expired records.
func (k *Recorder[M]) Sweep(ctx context.Context) error {
	list, err := k.stored(ctx, k.Namespace)
	if err != nil {
		return err
	}
	for i := range list.Items {
		c := &list.Items[i]
		if len(k.Policy.Expired(k.Clock.Now(), []postmortem.Kept{status.Kept(c)})) == 0 {
			continue
		}
		if err := k.drop(ctx, client.ObjectKeyFromObject(c)); err != nil {
			return err
		}
	}
	return nil
}
