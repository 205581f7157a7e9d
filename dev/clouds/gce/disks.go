package gce

import (
	"net/http"
	"slices"
	"strconv"
)

// disk is a persistent disk.
type disk struct {
	id, project, zone, name string
	is                      resource
}

func diskNamed(c *Cloud, project, zone, name string) (disk, bool) {
	return find(c.disks.All(), func(d disk) bool { return d.project == project && d.zone == zone && d.name == name })
}

// makeDisk creates a disk without an instance.
func makeDisk(c *Cloud, project, zone, name string, size int64, init resource) disk {
	d := disk{id: newID(c), project: project, zone: zone, name: name}
	kind := tail(init.text("diskType"))
	if kind == "" {
		kind = "pd-standard"
	}
	d.is = resource{
		"kind": "compute#disk", "id": d.id, "name": name, "status": "READY", "sizeGb": strconv.FormatInt(size, 10),
		"creationTimestamp": stamp(c.clock.Now()), "selfLink": link("projects", project, "zones", zone, "disks", name),
		"zone": link("projects", project, "zones", zone), "type": link("projects", project, "zones", zone, "diskTypes", kind),
		"labelFingerprint": fingerprint(init["labels"]), "physicalBlockSizeBytes": "4096",
	}
	for _, field := range []string{"labels", "sourceImage", "provisionedIops", "provisionedThroughput", "storagePool", "resourceManagerTags"} {
		if v := init[field]; v != nil {
			d.is[field] = v
		}
	}
	c.disks.Put(d.id, d)
	return d
}

// useDisk attaches the disk with the name to an instance. It does not change an existing disk.
func useDisk(c *Cloud, i instance, name string, size int64, init resource) {
	d, ok := diskNamed(c, i.project, i.zone, name)
	if !ok {
		d = makeDisk(c, i.project, i.zone, name, size, init)
	}
	self := link("projects", i.project, "zones", i.zone, "instances", i.name)
	c.disks.Update(d.id, func(d disk) disk {
		d.is = d.is.with(resource{"users": append(slices.Clone(d.is.texts("users")), self), "lastAttachTimestamp": stamp(c.clock.Now())})
		return d
	})
}

// releaseDisks detaches the disks of a deleted instance, and deletes those with autoDelete. It deletes all of them if the
// instance never started.
func releaseDisks(c *Cloud, i instance, all bool) {
	for _, attached := range i.is.parts("disks") {
		d, ok := diskNamed(c, i.project, i.zone, tail(attached.text("source")))
		switch {
		case !ok:
		case all || attached.yes("autoDelete"):
			c.disks.Delete(d.id)
		default:
			c.disks.Update(d.id, func(d disk) disk {
				d.is = d.is.with(resource{"lastDetachTimestamp": stamp(c.clock.Now())})
				delete(d.is, "users")
				return d
			})
		}
	}
}

func inUse(d disk) *failure {
	return failed(http.StatusBadRequest, "resourceInUseByAnotherResource", "The disk resource '%s' is already being used by '%s'",
		below(d.is.text("selfLink")), below(d.is.texts("users")[0]))
}

func getDisk(c *Cloud, q request) (any, *failure) {
	d, ok := diskNamed(c, q.project, q.scope, q.name)
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/disks/" + q.name)
	}
	return d.is, nil
}

func listDisks(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, d := range c.disks.AllBehind(c.Lag()) {
		if q.aggregated || d.zone == q.scope {
			all = append(all, placed{"zones/" + d.zone, d.is})
		}
	}
	return pageOf(c, q, "disks", all)
}

func insertDisk(c *Cloud, q request) (any, *failure) {
	q.name = q.body.text("name")
	if _, ok := diskNamed(c, q.project, q.scope, q.name); ok {
		return nil, failed(http.StatusConflict, "alreadyExists", "The resource 'projects/%s/zones/%s/disks/%s' already exists", q.project, q.scope, q.name)
	}
	d := makeDisk(c, q.project, q.scope, q.name, q.body.number("sizeGb"), q.body)
	return finished(c, newOperation(c, "insert", q.target, d.id, ""), nil), nil
}

func deleteDisk(c *Cloud, q request) (any, *failure) {
	d, ok := diskNamed(c, q.project, q.scope, q.name)
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/disks/" + q.name)
	}
	if len(d.is.texts("users")) > 0 {
		return nil, inUse(d)
	}
	op := newOperation(c, "delete", q.target, d.id, q.query("requestId"))
	after(c, c.options.Delete/4, func() {
		c.disks.Delete(d.id)
		finished(c, op, nil)
	})
	return op, nil
}
