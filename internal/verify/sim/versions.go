package sim

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// lease is the lease that one of several processes holds. Processes of both versions compete for it.
type lease struct {
	role role
	api  int
}

func (p *process) lease() lease { return lease{p.role, p.adapter.number} }

// startEarlierVersions lets the earlier version run first: it creates objects that the present version must handle.
func (w *World) startEarlierVersions() {
	w.earlier = map[lease]bool{}
	if !w.profile.versions {
		return
	}
	for _, of := range w.apis {
		for _, r := range []role{machineRole, setRole, fleetRole} {
			w.earlier[lease{r, of.number}] = w.chance(70)
		}
	}
}

// exchange makes a process of the other version take over: an upgrade, or a downgrade. Requests of the old process
// may still arrive.
func (w *World) exchange() {
	leading := slices.DeleteFunc(w.leading(), func(p *process) bool {
		return p.role != machineRole && p.role != setRole && p.role != fleetRole
	})
	if p, ok := pick(w, leading); ok {
		w.install(p, !w.earlier[p.lease()])
	}
}

func (w *World) install(p *process, earlier bool) {
	w.releaseLease(p)
	w.earlier[p.lease()] = earlier
	w.tracef(p.name(), "IS EXCHANGED, for an earlier version: %v, with %d passes under way", earlier, len(p.tasks))
	w.start(p.role, p.adapter, w.staleness())
}

// upgrade makes the present version take over everywhere.
func (w *World) upgrade() {
	for _, p := range w.leading() {
		if w.earlier[p.lease()] {
			w.install(p, false)
		}
	}
}

// unknown are the machine annotations that the earlier version does not know: it neither reads nor writes them, and does
// not remove them. Its own values stay in memory.
var unknown = []string{dialect.OriginAnnotation, dialect.OnNodeAnnotation}

// earlierClient is a client of the earlier version.
type earlierClient struct {
	editing
	p *process
	// kept is the knowledge of the process that the present version would have stored, by the UID of the machine.
	kept map[types.UID]map[string]string
}

// ages makes p a process of the earlier version, if that version leads.
func (p *process) ages() {
	p.earlier = p.w.earlier[p.lease()]
	if !p.earlier {
		return
	}
	c := earlierClient{p: p, kept: map[types.UID]map[string]string{}}
	c.editing = editing{p.client, c.sees}
	p.client, p.live = c, earlierReader{p.live, c.sees}
}

// sees changes a machine to what the earlier version sees of it.
func (c earlierClient) sees(o client.Object) (hide bool) {
	annotations := o.GetAnnotations()
	for _, key := range unknown {
		delete(annotations, key)
		if value, ok := c.kept[o.GetUID()][key]; ok && annotations != nil {
			annotations[key] = value
		} else if ok {
			annotations = map[string]string{key: value}
			o.SetAnnotations(annotations)
		}
	}
	return false
}

// Create implements [client.Writer].
func (c earlierClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	annotations := o.GetAnnotations()
	for _, key := range unknown {
		delete(annotations, key)
	}
	err := c.editing.Create(ctx, o, opts...)
	c.sees(o)
	return err
}

// Patch implements [client.Writer].
func (c earlierClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	sent, own, err := c.sends(o, p)
	if err != nil {
		return err
	}
	if sent != nil {
		err = c.editing.Patch(ctx, o, sent, opts...)
	}
	if err == nil {
		c.keeps(o, own)
	}
	return err
}

func (c earlierClient) keeps(o client.Object, own map[string]string) {
	for key, value := range own {
		if c.kept[o.GetUID()] == nil {
			c.kept[o.GetUID()] = map[string]string{}
		}
		c.kept[o.GetUID()][key] = value
	}
	c.sees(o)
}

// sends returns the patch of the earlier version, and the values that it keeps in memory; a nil patch means that
// there is nothing to write. It writes the cluster of an instance that it has seen.
func (c earlierClient) sends(o client.Object, p client.Patch) (client.Patch, map[string]string, error) {
	raw, err := p.Data(o)
	if err != nil {
		return nil, nil, err
	}
	if p.Type() != types.MergePatchType {
		return client.RawPatch(p.Type(), raw), nil, nil
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, nil, err
	}
	own := map[string]string{}
	meta, _ := body["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for _, key := range unknown {
		if value, ok := annotations[key].(string); ok {
			own[key] = value
		}
		delete(annotations, key)
	}
	if annotations != nil && len(annotations) == 0 {
		delete(meta, "annotations")
	}
	if _, locked := meta["resourceVersion"]; locked && len(meta) == 1 && len(body) == 1 {
		return nil, own, nil
	}
	raw, err = json.Marshal(body)
	return client.RawPatch(p.Type(), raw), own, err
}

// Status implements [client.StatusClient].
func (c earlierClient) Status() client.SubResourceWriter { return earlierStatus{c.editing.Status(), c} }

// earlierStatus writes the status for the earlier version.
type earlierStatus struct {
	client.SubResourceWriter
	c earlierClient
}

// Patch implements [client.SubResourceWriter].
func (s earlierStatus) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	err := s.SubResourceWriter.Patch(ctx, o, p, opts...)
	s.c.sees(o)
	return err
}

// earlierReader reads past the caches for the earlier version.
type earlierReader struct {
	client.Reader
	sees func(client.Object) (hide bool)
}

// Get implements [client.Reader].
func (r earlierReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if err == nil {
		r.sees(o)
	}
	return err
}

// List implements [client.Reader].
func (r earlierReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	if err != nil {
		return err
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		r.sees(o.(client.Object))
		return nil
	})
}

// infrastructure is the cloud as p reaches it. Instances of the earlier version have no owner tag.
func (p *process) infrastructure() provider.Provider {
	if h := p.w.hollow; h != nil {
		return decorate.Own(hollowProvider{h, p.cloudGate}, owner)
	}
	sim := cloud.Provider{Cloud: p.w.cloud, Gate: choosyGate(p), Untagged: p.earlier}
	return decorate.Own(sim, owner)
}
