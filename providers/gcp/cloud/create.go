package cloud

import (
	"cmp"
	"context"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// creator creates the instances of a class.
type creator struct{ *call }

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (none provider.Instance, err error) {
	cr := creator{s.call}
	at, err := cr.placementOf(want.Choice)
	if err != nil {
		return none, err
	}
	if _, err := s.forProject(ref); err != nil {
		return none, err
	}
	v, err := s.find(ctx, ref)
	if err != nil {
		return none, err
	}
	if existing := provider.Existing(v.instances); len(existing) > 0 {
		return existing[0], nil
	}
	request := s.requestID(ref, at)
	if v.request == request { // it failed: no other is created from that choice
		return v.instances[0], nil
	}
	order, err := cr.request(ctx, ref, want, at)
	if err != nil {
		return none, err
	}
	if order.Name, err = cr.instanceName(ref, at.zone, v.taken); err != nil {
		return none, err
	}
	if order.Name != ref.Name {
		order.Labels[nameLabel] = ref.Name
	}
	op, err := s.client.compute.Instances.Insert(at.project, at.zone, order).RequestId(request).Context(ctx).Do()
	if err != nil {
		return none, cr.refused(ctx, ref, err)
	}
	return cr.answered(ctx, ref, op)
}

// instanceName is the instance's name in a zone.
func (cr creator) instanceName(ref provider.Ref, zone string, taken map[string]bool) (string, error) {
	switch {
	case !nameForm.MatchString(ref.Name):
		return "", provider.Errorf(provider.Invalid,
			"no instance can be called %q: a name is of 1 to 63 lower-case letters, digits and dashes, and begins with a letter", provider.Clip(ref.Name, 100))
	case !taken[zone+"/"+ref.Name]:
		return ref.Name, nil
	case taken[zone+"/"+cr.alternativeName(ref)]:
		return "", provider.Errorf(provider.Conflict, "zone %s has instances %s and %s of others", zone, ref.Name, cr.alternativeName(ref))
	}
	return cr.alternativeName(ref), nil
}

// placementOf is the place of a choice.
func (cr creator) placementOf(name string) (at placement, err error) {
	if cr.bare {
		return at, provider.Errorf(provider.Invalid, "the class has no provider spec")
	}
	places := cr.plan.places(cr.project)
	if len(places) == 0 {
		return at, provider.InvalidField("zone", "names no zone, or machineType no type")
	}
	for _, p := range places {
		if name == "" || choiceName(p) == name {
			return p, nil
		}
	}
	return at, provider.Errorf(provider.Invalid, "the provider spec has no choice %q", provider.Clip(name, 200))
}

// answered reads the operation of an accepted request. It may belong to the same request made before.
func (cr creator) answered(ctx context.Context, ref provider.Ref, op *compute.Operation) (none provider.Instance, err error) {
	if op.Status == done {
		if e := fault(op); e != nil {
			return none, cr.clients.Observe(cr.key, e)
		}
		made, err := cr.client.compute.Instances.Get(cr.project, tail(op.Zone), tail(op.TargetLink)).Context(ctx).Do()
		switch {
		case err == nil && made.Id == op.TargetId:
			return cr.toInstance(made), nil
		case err == nil, gone(err):
			return none, provider.Errorf(provider.Transient, "the instance %s that was created for the machine does not exist any more", tail(op.TargetLink))
		}
		return none, cr.observe(ctx, err, "ask for instance %s", tail(op.TargetLink))
	}
	i, _ := cr.pendingInstance(ref, op)
	return i, nil
}

// request is the instance to create, without its name.
func (cr creator) request(ctx context.Context, ref provider.Ref, want provider.Want, at placement) (*compute.Instance, error) {
	i, err := cr.plan.instance(at, want.UserData)
	if err != nil {
		return nil, err
	}
	tags, err := cr.tagValues(ctx)
	if err != nil {
		return nil, err
	}
	if len(tags) > 0 {
		i.Params = &compute.InstanceParams{ResourceManagerTags: tags}
	}
	if err := cr.shieldBIOS(ctx, i, at); err != nil {
		return nil, err
	}
	identity := cr.identity(ref)
	i.Labels = cr.labelled(cr.plan.labels(), identity)
	if want.Role == controlPlaneRole {
		i.Labels[roleLabel] = want.Role
	}
	if len(i.Labels) > mostLabels {
		return nil, provider.InvalidField("labels", "with those of the cluster there are %d, and Compute Engine takes %d", len(i.Labels), mostLabels)
	}
	cr.labelDisks(ref, i, tags)
	i.Tags = &compute.Tags{Items: cr.networkTags()}
	return i, nil
}

// labelDisks sets names and labels of disks. A disk that outlives its instance does not carry the UID, by
// which it would be removed.
func (cr creator) labelDisks(ref provider.Ref, i *compute.Instance, tags map[string]string) {
	for n, d := range i.Disks {
		if d.Type == "SCRATCH" {
			continue
		}
		identity := cr.identity(ref)
		if !d.AutoDelete {
			delete(identity, uidLabel)
			identity[keptLabel] = ref.UID
		}
		p := d.InitializeParams
		p.DiskName, p.Labels, p.ResourceManagerTags = cr.diskName(ref, n), cr.labelled(p.Labels, identity), tags
	}
}

// tagValues are the IDs of the tags of Resource Manager in the spec, or else in the cluster, by those of
// their keys.
func (cr creator) tagValues(ctx context.Context) (map[string]string, error) {
	if cr.plan.openshift == nil {
		return nil, nil
	}
	names := map[string]string{}
	for _, t := range cr.from.tags {
		names[t.ParentID+"/"+t.Key] = t.Value
	}
	for _, t := range cr.plan.openshift.ResourceManagerTags {
		names[t.ParentID+"/"+t.Key] = t.Value
	}
	out := map[string]string{}
	for key, value := range names {
		tag, err := recall(ctx, cr.client, "tag "+key+"/"+value, func(ctx context.Context) ([2]string, error) {
			v, err := cr.client.tags.TagValues.GetNamespaced().Name(key + "/" + value).Context(ctx).Do()
			if err != nil {
				return [2]string{}, err
			}
			return [2]string{v.Parent, v.Name}, nil
		})
		if err != nil {
			return nil, cr.observe(ctx, err, "look up the tag %s/%s", key, value)
		}
		out[tag[0]] = tag[1]
	}
	return out, nil
}

// shieldBIOS switches integrity monitoring off for an image that does not start with UEFI, if the spec has
// no setting: Compute Engine would refuse the instance.
func (cr creator) shieldBIOS(ctx context.Context, i *compute.Instance, at placement) error {
	spec := cr.plan.openshift
	if spec == nil || spec.ShieldedInstanceConfig != (machinev1beta1.GCPShieldedInstanceConfig{}) {
		return nil
	}
	for _, d := range i.Disks {
		if !d.Boot {
			continue
		}
		able, err := cr.startsWithUEFI(ctx, d.InitializeParams.SourceImage, at)
		if err != nil {
			return err
		}
		if !able {
			i.ShieldedInstanceConfig = &compute.ShieldedInstanceConfig{ForceSendFields: shieldedFields}
		}
	}
	return nil
}

// startsWithUEFI is false if the image is not marked as such.
func (cr creator) startsWithUEFI(ctx context.Context, path string, at placement) (bool, error) {
	project, name, family := imageOf(path, at.project)
	return recall(ctx, cr.client, "uefi "+project+"/"+name+"/"+at.zone, func(ctx context.Context) (bool, error) {
		var image *compute.Image
		var err error
		if family {
			var view *compute.ImageFamilyView
			if view, err = cr.client.compute.ImageFamilyViews.Get(project, at.zone, name).Context(ctx).Do(); err == nil {
				image = view.Image
			}
		} else {
			image, err = cr.client.compute.Images.Get(project, name).Context(ctx).Do()
		}
		if gone(err) || noProject(err) {
			return false, provider.InvalidField("disks[0].image", "there is no image %s", path)
		}
		if err != nil {
			return false, cr.observe(ctx, err, "ask for image %s", path)
		}
		for _, f := range image.GuestOsFeatures {
			if strings.EqualFold(f.Type, "UEFI_COMPATIBLE") {
				return true, nil
			}
		}
		return false, nil
	})
}

// imageOf reads the path of an image, or of a family of images.
func imageOf(path, project string) (of, name string, family bool) {
	if _, rest, ok := strings.Cut(path, "projects/"); ok {
		of, _, _ = strings.Cut(rest, "/")
	}
	return cmp.Or(of, project), tail(path), strings.Contains(path, "/family/")
}
