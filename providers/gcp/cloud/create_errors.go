package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/millwright-dev/millwright/provider"
)

// refused says why no instance was created, and names the invalid field of the spec.
func (cr creator) refused(ctx context.Context, ref provider.Ref, err error) error {
	answer, ok := errors.AsType[*googleapi.Error](err)
	if ok && taken(err) && strings.Contains(answer.Message, "/disks/") {
		// Objects of an earlier try block this one.
		if _, clearing := cr.deleteDisks(ctx, ref); clearing != nil {
			return clearing
		}
		return provider.Errorf(provider.Conflict, "make the instance: %s", words(answer))
	}
	if ok && answer.Code == http.StatusPreconditionFailed {
		// A new object has no fingerprint that another client could have changed: a policy of the
		// organization forbids it.
		return &provider.Error{Kind: provider.Invalid, Err: textError{"make the instance: " + words(answer), err}}
	}
	err = cr.observe(ctx, err, "make the instance")
	if e, refusal := errors.AsType[*provider.Error](err); ok && refusal && e.Kind == provider.Invalid {
		e.Field = cr.fieldOf(answer)
	}
	return err
}

var resourceField = regexp.MustCompile(`[Ff]ield 'resource\.([^']+)'`)

// renamed are fields of the API with other names in specs, by prefix. All others have the same name.
var renamed = []struct{ api, openshift, gardener string }{
	{"machineType", "machineType", "machineType"},
	{"guestAccelerators", "gpus", "gpu"},
	{"metadata", "gcpMetadata", "metadata"},
	{"canIpForward", "canIPForward", "canIpForward"},
	{"confidentialInstanceConfig", "confidentialCompute", ""},
	{"shieldedInstanceConfig", "shieldedInstanceConfig", "shieldedInstanceConfiguration"},
	{"params.resourceManagerTags", "resourceManagerTags", ""},
	{"scheduling.onHostMaintenance", "onHostMaintenance", "scheduling.onHostMaintenance"},
	{"scheduling.automaticRestart", "restartPolicy", "scheduling.automaticRestart"},
	{"scheduling", "preemptible", "scheduling"},
	{"tags", "tags", "tags"},
}

// inDisk are the same for the parts of a disk.
var inDisk = strings.NewReplacer(
	"initializeParams.sourceImage", "image", "initializeParams.diskType", "type", "initializeParams.diskSizeGb", "sizeGb",
	"initializeParams.", "", "diskEncryptionKey", "encryption")

// fieldOf is the path in the spec of the field in an answer; empty if it names none.
func (cr creator) fieldOf(e *googleapi.Error) string {
	if found := resourceField.FindStringSubmatch(e.Message); found != nil {
		return cr.inSpec(found[1])
	}
	missing := func(kind string) bool { return strings.Contains(e.Message, "/"+kind+"/") }
	switch {
	case projectForm.MatchString(e.Message):
		return "projectID"
	case missing("images"):
		return "disks[" + fmt.Sprint(cr.diskOf(e.Message)) + "].image"
	case missing("diskTypes"):
		return "disks[0].type"
	case missing("subnetworks"):
		return "networkInterfaces[0].subnetwork"
	case missing("networks"):
		return "networkInterfaces[0].network"
	case missing("acceleratorTypes"):
		return cr.inSpec("guestAccelerators") + map[bool]string{true: ".acceleratorType", false: "[0].type"}[cr.plan.gardener != nil]
	case missing("machineTypes"):
		return "machineType"
	case strings.Contains(e.Message, "'zone'"), strings.Contains(e.Message, "/zones/"):
		return "zone"
	case strings.Contains(e.Message, "host maintenance"), strings.Contains(e.Message, "live migration"):
		return cr.inSpec("scheduling.onHostMaintenance")
	case strings.Contains(e.Message, "AutomaticRestart"):
		return cr.inSpec("scheduling.automaticRestart")
	}
	return ""
}

func (cr creator) inSpec(api string) string {
	if strings.HasPrefix(api, "disks[") {
		return inDisk.Replace(api)
	}
	for _, r := range renamed {
		if rest, ok := strings.CutPrefix(api, r.api); ok {
			if cr.plan.gardener != nil {
				return r.gardener + rest
			}
			return r.openshift + rest
		}
	}
	return api
}

// diskOf is the number of the disk whose image a message names.
func (cr creator) diskOf(message string) int {
	var images []string
	switch t := cr.plan; {
	case t.openshift != nil:
		for _, d := range t.openshift.Disks {
			images = append(images, d.Image)
		}
	case t.gardener != nil:
		for _, d := range t.gardener.Disks {
			images = append(images, d.Image)
		}
	}
	for n, image := range images {
		if image != "" && strings.Contains(message, tail(image)) {
			return n
		}
	}
	return 0
}
