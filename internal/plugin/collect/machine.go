package collect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// machineOf returns the facts that the object of a machine has, or nil if o is not a machine.
func machineOf(o client.Object) *explain.MachineFacts {
	said := apis.Said(o)
	f := &explain.MachineFacts{Subject: subject(o), Said: said.Statements, Failure: explain.Failure{Err: said.Failure, Unasked: said.Unasked}, Stopped: dialect.Stopped(o)}
	if f.Kind != "Machine" {
		return nil
	}
	lens := of(f.Subject).Machines
	f.View, f.Policy, f.KeptUntil = lens.View(o), lens.Policy(o), said.KeptUntil
	for _, n := range said.Notes {
		f.Made.Notes = append(f.Made.Notes, explain.Cause{Source: n.About, Message: n.Message})
	}
	if said.Classed {
		f.Made.Class, f.Replaces = "machineclass "+said.Class, f.View.Owned
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		f.Owner = ref.Kind + " " + ref.Name
	}
	f.Obstacles.Foreign = slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(name string) bool { return name == of(f.Subject).Finalizer })
	return f
}

// machine reads all facts about one machine.
func (l *look) machine(ctx context.Context, o client.Object) explain.MachineFacts {
	f := machineOf(o)
	l.made(ctx, f, o)
	n, looked := l.node(ctx, f)
	l.withNode(ctx, f, n, looked)
	f.Events = l.events(ctx, o)
	joins(ctx, l, f)
	if !f.View.Deleted.IsZero() && f.Node != nil {
		l.workloads(ctx, f)
	}
	if f.View.Deleted.IsZero() && f.Obstacles.AnotherTarget == "" && (f.Node == nil || lifecycle.Ready(f.Node).Status != corev1.ConditionTrue) {
		f.Requests = l.requests(ctx, f)
	}
	remedied(ctx, l, f, o)
	q := Question{API: f.API, Namespace: f.Namespace, Name: f.Name}
	f.Evidence = l.evidence(ctx, q, f.View.UID)
	f.Gaps = texts(l.gaps)
	switch a := explain.Machine(l.now, *f); {
	case a.State == explain.Healthy: // a healthy machine does not wait for a controller
	case f.Replaces && f.View.Deleted.IsZero() && f.View.Stage == lifecycle.StageFailed:
		f.Controller = l.setController(ctx, f.Subject)
	default:
		f.Controller = l.machineController(ctx, f.Subject)
	}
	f.Gaps = texts(l.gaps)
	return *f
}

// withNode adds the machine's node and the facts about this node.
func (l *look) withNode(ctx context.Context, f *explain.MachineFacts, n *corev1.Node, looked bool) {
	if f.Obstacles.AnotherTarget = anotherTarget(ctx, l, f); f.Obstacles.AnotherTarget != "" {
		n, looked = nil, false // the nodes of another cluster are not about the machine
	}
	f.Node, f.NodeLooked = n, looked
	if updater, ok := dialect.As[dialect.InPlaceUpdater](of(f.Subject).Machines); ok && n != nil {
		f.Update = updater.Update(n)
	}
}

// anotherTarget says why the target cluster of this program, or of the machine's controller, is not the cluster that
// the machine joined. It returns "" if both are the same cluster, or if this is unknown.
func anotherTarget(ctx context.Context, l *look, f *explain.MachineFacts) string {
	for _, s := range f.Said {
		if lifecycle.SaysForeign(s.Message) {
			return s.Message
		}
	}
	joined := f.View.Recorded.Joined
	if joined.Cluster == "" {
		return ""
	}
	uid, err := identity(ctx, l)
	if err != nil {
		return ""
	}
	return lifecycle.ForeignTarget(joined.Cluster, uid, joined.Accepted)
}

// made reads the objects from which the controller creates the machine. It checks whether secrets exist only after a
// failure.
func (l *look) made(ctx context.Context, f *explain.MachineFacts, o client.Object) {
	from := o
	if class := apis.Said(o).Class; class != "" {
		var err error
		from, err = once(l, "class/"+f.API+"/"+f.Namespace+"/"+class, func() (client.Object, error) {
			c := kindOf(f.API, "MachineClass").object()
			return c, l.Control.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: class}, c)
		})
		l.gap("machineclass "+class, err)
		if f.Made.NoClass = apierrors.IsNotFound(err); err != nil {
			return
		}
	}
	f.Made.Fields = fields(o)
	for _, s := range apis.Said(from).Secrets {
		f.Made.Secrets = append(f.Made.Secrets, s.Namespace+"/"+s.Name)
		if s.Credentials {
			f.Made.Credentials = "secret " + s.Namespace + "/" + s.Name
		}
		if f.Failure.Err != nil && absentSecret(ctx, l, s) {
			f.Made.Absent = append(f.Made.Absent, "secret "+s.Namespace+"/"+s.Name)
		}
	}
}

// absentSecret reports whether the secret does not exist. It does not read the content.
func absentSecret(ctx context.Context, l *look, s dialect.NamedSecret) bool {
	if l.brief {
		return false
	}
	key := client.ObjectKey{Namespace: s.Namespace, Name: s.Name}
	_, err := once(l, "secret/"+key.String(), func() (struct{}, error) {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return struct{}{}, l.Control.Get(ctx, key, o)
	})
	l.gap("secret "+key.String(), err)
	return apierrors.IsNotFound(err)
}

// node returns the machine's node, and whether the nodes could be read. This is the recorded node, or otherwise a
// node with the machine's provider ID or an annotation with the machine's name.
func (l *look) node(ctx context.Context, f *explain.MachineFacts) (*corev1.Node, bool) {
	v := f.View
	if v.Recorded.NodeName != "" {
		n, err := nodeNamed(ctx, l, v.Recorded.NodeName)
		if err != nil {
			l.gap("node "+v.Recorded.NodeName, err)
			f.Obstacles.Unreached = !apierrors.IsForbidden(err)
			return nil, false
		}
		if n != nil && others(v, n) {
			n = nil
		}
		return n, true
	}
	nodes, looked := l.nodes(ctx)
	if r, ok := l.memo["nodes"].(result[map[string]*corev1.Node]); ok && r.err != nil {
		f.Obstacles.Unreached = !apierrors.IsForbidden(r.err)
	}
	for _, n := range nodes {
		if theirs(v.Namespace, v.Name, v.Recorded.ProviderID, n) {
			return n, looked
		}
	}
	return nil, looked
}

// events returns the events about an object. If the answer is about many objects, events lists all events of a
// namespace once.
func (l *look) events(ctx context.Context, o client.Object) []postmortem.Event {
	if l.brief {
		return nil
	}
	if l.many {
		all, err := once(l, "events/"+o.GetNamespace(), func() (map[types.UID][]corev1.Event, error) {
			var list corev1.EventList
			out := map[types.UID][]corev1.Event{}
			err := l.Control.List(ctx, &list, client.InNamespace(o.GetNamespace()))
			for _, e := range list.Items {
				out[e.InvolvedObject.UID] = append(out[e.InvolvedObject.UID], e)
			}
			return out, err
		})
		l.gap("events", err)
		return status.Events(all[o.GetUID()])
	}
	var list corev1.EventList
	err := l.Control.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(o.GetUID())})
	l.gap("events", err)
	return status.Events(list.Items)
}

// budgetsUnread begins the gap of pod disruption budgets that could not be read.
const budgetsUnread = "poddisruptionbudgets"

// workloads adds the objects on which a drain depends: the node's pods, their disruption budgets, the pods that
// exhausted budgets count, and the attached volumes.
func (l *look) workloads(ctx context.Context, f *explain.MachineFacts) {
	var pods corev1.PodList
	err := l.Target.List(ctx, &pods, client.MatchingFields{"spec.nodeName": f.Node.Name})
	l.gap("pods of node "+f.Node.Name, err)
	f.Pods, f.PodsLooked = pods.Items, err == nil
	budgets := &policyv1.PodDisruptionBudgetList{}
	if len(f.Pods) > 0 {
		budgets, err = once(l, "poddisruptionbudgets", func() (*policyv1.PodDisruptionBudgetList, error) {
			var list policyv1.PodDisruptionBudgetList
			return &list, l.Target.List(ctx, &list)
		})
		l.gap(budgetsUnread, err)
	}
	asked := map[string]bool{}
	for _, b := range budgets.Items {
		one := []policyv1.PodDisruptionBudget{b}
		if !slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return len(drain.Covering(p, one)) > 0 }) {
			continue
		}
		f.Budgets = append(f.Budgets, b)
		if drain.Room(&b) > 0 || asked[b.Namespace] {
			continue
		}
		asked[b.Namespace] = true
		peers, err := once(l, "pods/"+b.Namespace, func() (*corev1.PodList, error) {
			var list corev1.PodList
			return &list, l.Target.List(ctx, &list, client.InNamespace(b.Namespace))
		})
		l.gap("pods of namespace "+b.Namespace, err)
		f.Peers = append(f.Peers, peers.Items...)
	}
	attachments, err := once(l, "volumeattachments", func() (*storagev1.VolumeAttachmentList, error) {
		var list storagev1.VolumeAttachmentList
		return &list, l.Target.List(ctx, &list)
	})
	l.gap("volumeattachments", err)
	for _, a := range attachments.Items {
		if a.Spec.NodeName == f.Node.Name && a.Status.Attached {
			f.Attachments = append(f.Attachments, a)
		}
	}
}

// evidence returns the newest record about a machine, or nil. If uid is not empty, the record has this UID.
func (l *look) evidence(ctx context.Context, q Question, uid string) *explain.Evidence {
	list := marked(ctx, l, q, status.LabelValue)
	var newest *explain.Evidence
	for i := range list.Items {
		c := &list.Items[i]
		r, err := postmortem.Decode([]byte(c.Data[status.Key]))
		if err != nil || r.Name != q.Name || q.API != "" && r.API != q.API || uid != "" && r.UID != uid {
			continue
		}
		if newest == nil || r.Taken.After(newest.Record.Taken) {
			newest = &explain.Evidence{Where: "configmap " + c.Namespace + "/" + c.Name, Expires: postmortem.DefaultPolicy().Until(status.Kept(c)), Record: r}
		}
	}
	return newest
}
