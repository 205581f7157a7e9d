package gce

import (
	"net/http"
	"strconv"
	"time"
)

// instance is an existing instance. A change replaces the value.
type instance struct {
	id, project, zone, name string
	// body is the request. is are the fields that the API shows.
	body, is resource
	began    time.Time
	boots    int
	// preempted: Compute Engine has announced the preemption.
	preempted bool
}

func (i instance) status() string { return i.is.text("status") }

func (i instance) machineType() string { return tail(i.is.text("machineType")) }

// instanceNamed is the instance with the name, or the ID, in a zone.
func instanceNamed(c *Cloud, project, zone, name string) (instance, bool) {
	return named(c.instances.All(), project, zone, name)
}

func named(all []instance, project, zone, name string) (instance, bool) {
	return find(all, func(i instance) bool {
		return i.project == project && i.zone == zone && (i.name == name || i.id == name)
	})
}

// becomes changes the status of an instance, if it exists.
func becomes(c *Cloud, id, status string, also resource) {
	c.instances.Update(id, func(i instance) instance {
		i.is = i.is.with(resource{"status": status}).with(also)
		if status == "RUNNING" {
			i.boots++
		}
		return i
	})
}

// launch starts an accepted instance after its boot time, or fails it with the cause before.
func launch(c *Cloud, id string, op, cause resource) {
	after(c, c.options.Boot/2, func() {
		if i, ok := c.instances.Get(id); !ok || i.status() != "PROVISIONING" {
			return // it was deleted, or has failed
		}
		if cause != nil {
			giveUp(c, id, op, cause)
			return
		}
		becomes(c, id, "STAGING", nil)
	})
	after(c, c.options.Boot, func() {
		if i, ok := c.instances.Get(id); ok && i.status() == "STAGING" {
			becomes(c, id, "RUNNING", resource{"lastStartTimestamp": stamp(c.clock.Now())})
		}
		if now, _ := c.operations.Get(op.text("name")); now.text("status") != "DONE" {
			finished(c, op, nil)
		}
	})
}

// giveUp deletes an accepted instance with its disks, and ends its operation with the cause.
func giveUp(c *Cloud, id string, op, cause resource) {
	if i, ok := c.instances.Get(id); ok {
		c.instances.Delete(id)
		releaseDisks(c, i, true)
	}
	finished(c, op, cause)
}

// vanish deletes an instance, and the disks that are deleted with it.
func vanish(c *Cloud, id string) {
	if i, ok := c.instances.Get(id); ok {
		c.instances.Delete(id)
		releaseDisks(c, i, false)
		c.balancers.forget(i)
	}
}

// existing is the instance of a request.
func existing(c *Cloud, q request) (instance, *failure) {
	i, ok := instanceNamed(c, q.project, q.scope, q.name)
	if !ok {
		return i, notFound("projects/" + q.project + "/zones/" + q.scope + "/instances/" + q.name)
	}
	return i, nil
}

// changeInstance begins an operation on an instance, or answers with the operation that an earlier call with the same
// request ID began.
func changeInstance(c *Cloud, q request, kind string, do func(i instance, op resource) *failure) (any, *failure) {
	if op, ok := replay(c, q); ok {
		return op, nil
	}
	i, err := existing(c, q)
	if err != nil {
		return nil, err
	}
	q.name = i.name
	op := newOperation(c, kind, q.target, i.id, q.query("requestId"))
	if err := do(i, op); err != nil {
		c.operations.Delete(op.text("name"))
		return nil, err
	}
	remember(c, q, op)
	op, _ = c.operations.Get(op.text("name"))
	return op, nil
}

func deleteInstance(c *Cloud, q request) (any, *failure) {
	return changeInstance(c, q, "delete", func(i instance, op resource) *failure {
		if i.is.yes("deletionProtection") {
			return failed(http.StatusBadRequest, "invalid", "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion.'.")
		}
		becomes(c, i.id, "STOPPING", nil)
		after(c, c.options.Delete, func() {
			vanish(c, i.id)
			finished(c, op, nil)
		})
		return nil
	})
}

func stopInstance(c *Cloud, q request) (any, *failure) {
	return changeInstance(c, q, "stop", func(i instance, op resource) *failure {
		if i.status() == "TERMINATED" {
			finished(c, op, nil)
			return nil
		}
		haltInstance(c, i, op)
		return nil
	})
}

// haltInstance stops an instance after a delay.
func haltInstance(c *Cloud, i instance, op resource) {
	becomes(c, i.id, "STOPPING", nil)
	after(c, c.options.Delete/2, func() {
		if now, ok := c.instances.Get(i.id); ok && now.status() == "STOPPING" {
			becomes(c, i.id, "TERMINATED", resource{"lastStopTimestamp": stamp(c.clock.Now())})
		}
		finished(c, op, nil)
	})
}

func startInstance(c *Cloud, q request) (any, *failure) {
	return changeInstance(c, q, "start", func(i instance, op resource) *failure {
		switch i.status() {
		case "RUNNING":
			finished(c, op, nil)
			return nil
		case "TERMINATED":
		default:
			return failed(http.StatusBadRequest, "resourceNotReady", "The resource 'projects/%s/zones/%s/instances/%s' is not ready", i.project, i.zone, i.name)
		}
		c.instances.Change(i.id, func(i *instance) { i.preempted = false })
		becomes(c, i.id, "PROVISIONING", nil)
		launch(c, i.id, op, nil)
		return nil
	})
}

func resetInstance(c *Cloud, q request) (any, *failure) {
	return changeInstance(c, q, "reset", func(i instance, op resource) *failure {
		if i.status() != "RUNNING" {
			return failed(http.StatusBadRequest, "resourceNotReady", "The resource 'projects/%s/zones/%s/instances/%s' is not ready", i.project, i.zone, i.name)
		}
		becomes(c, i.id, "RUNNING", resource{"lastStartTimestamp": stamp(c.clock.Now())})
		finished(c, op, nil)
		return nil
	})
}

// editInstance changes an instance without a delay.
func editInstance(c *Cloud, q request, kind string, fields func(i instance) (resource, *failure)) (any, *failure) {
	return changeInstance(c, q, kind, func(i instance, op resource) *failure {
		also, err := fields(i)
		if err != nil {
			return err
		}
		c.instances.Change(i.id, func(i *instance) { i.is = i.is.with(also) })
		finished(c, op, nil)
		return nil
	})
}

func setLabels(c *Cloud, q request) (any, *failure) {
	return editInstance(c, q, "setLabels", func(i instance) (resource, *failure) {
		if err := checkLabels("labels", q.body.words("labels")); err != nil {
			return nil, err
		}
		if q.body.text("labelFingerprint") != i.is.text("labelFingerprint") {
			return nil, failed(http.StatusPreconditionFailed, "conditionNotMet", "Labels fingerprint either invalid or resource labels have changed")
		}
		return resource{"labels": q.body["labels"], "labelFingerprint": fingerprint(q.body["labels"])}, nil
	})
}

func setTags(c *Cloud, q request) (any, *failure) {
	return editInstance(c, q, "setTags", func(i instance) (resource, *failure) {
		if q.body.text("fingerprint") != i.is.part("tags").text("fingerprint") {
			return nil, failed(http.StatusPreconditionFailed, "conditionNotMet", "Supplied fingerprint does not match current tags fingerprint.")
		}
		return resource{"tags": q.body.with(resource{"fingerprint": fingerprint(q.body["items"])})}, nil
	})
}

func setProtection(c *Cloud, q request) (any, *failure) {
	return editInstance(c, q, "setDeletionProtection", func(instance) (resource, *failure) {
		return resource{"deletionProtection": q.query("deletionProtection") != "false"}, nil
	})
}

func getInstance(c *Cloud, q request) (any, *failure) {
	i, ok := named(c.instances.AllBehind(c.Lag()), q.project, q.scope, q.name)
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/instances/" + q.name)
	}
	return i.is, nil
}

func listInstances(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, i := range c.instances.AllBehind(c.Lag()) {
		if q.aggregated || i.zone == q.scope {
			all = append(all, placed{"zones/" + i.zone, i.is})
		}
	}
	return pageOf(c, q, "instances", all)
}

// serialPort answers with the guest's simulated console output.
func serialPort(c *Cloud, q request) (any, *failure) {
	i, err := existing(c, q)
	if err != nil {
		return nil, err
	}
	text := ""
	if i.boots > 0 {
		text = "SeaBIOS (version 1.8.2-google)\r\nBooting from Hard Disk 0...\r\n[    0.000000] Linux version 6.6.0\r\n" + i.name + " login: "
	}
	from, _ := strconv.Atoi(q.query("start"))
	if from < 0 {
		from = max(0, len(text)+from)
	}
	from = min(from, len(text))
	return resource{
		"kind": "compute#serialPortOutput", "contents": text[from:], "start": strconv.Itoa(from), "next": strconv.Itoa(len(text)),
		"selfLink": i.is.text("selfLink") + "/serialPort",
	}, nil
}
