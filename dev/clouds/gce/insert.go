package gce

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// scratch is the type of attached disks that are local SSDs.
const scratch = "SCRATCH"

var (
	nameForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	keyForm   = regexp.MustCompile(`^[a-z][-_a-z0-9]{0,62}$`)
	valueForm = regexp.MustCompile(`^[-_a-z0-9]{0,63}$`)
	uuidForm  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// insertInstance accepts a new instance, or refuses an invalid one. The operation reports the outcome.
func insertInstance(c *Cloud, q request) (any, *failure) {
	if id := q.query("requestId"); id != "" && !uuidForm.MatchString(id) {
		return nil, invalid("requestId", "'%s'. Must be a valid UUID.", id)
	}
	if op, ok := replay(c, q); ok {
		return op, nil
	}
	name := q.body.text("name")
	q.name = name
	if err := checkInstance(c, q); err != nil {
		return nil, err
	}
	if _, ok := instanceNamed(c, q.project, q.scope, name); ok {
		return nil, failed(http.StatusConflict, "alreadyExists", "The resource 'projects/%s/zones/%s/instances/%s' already exists", q.project, q.scope, name)
	}
	i := instance{id: newID(c), project: q.project, zone: q.scope, name: name, body: q.body, began: c.clock.Now()}
	op := newOperation(c, "insert", q.target, i.id, q.query("requestId"))
	remember(c, q, op)
	cause := unaffordable(c, i)
	i.is = shownOf(c, i)
	c.instances.Put(i.id, i)
	launch(c, i.id, op, cause)
	return op, nil
}

func checkInstance(c *Cloud, q request) *failure {
	for _, check := range []func(*Cloud, request) *failure{checkNames, checkType, checkScheduling, checkDisks, checkDiskNames, checkNetworks, checkPolicy, checkTags} {
		if err := check(c, q); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(c *Cloud, q request) *failure {
	if !nameForm.MatchString(q.name) {
		return invalid("resource.name", "'%s'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'", q.name)
	}
	if err := checkLabels("resource.labels", q.body.words("labels")); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range q.body.part("metadata").parts("items") {
		key := m.text("key")
		if seen[key] {
			return invalid("resource.metadata", "Duplicate key '%s' in metadata.", key)
		}
		seen[key] = true
	}
	return nil
}

func checkLabels(field string, labels map[string]string) *failure {
	if len(labels) > 64 {
		return invalid(field, "'%d'. Number of labels exceeds 64.", len(labels))
	}
	for k, v := range labels {
		if !keyForm.MatchString(k) {
			return invalid(field, "'%s'. Label keys must match [a-z][-_a-z0-9]{0,62}.", k)
		}
		if !valueForm.MatchString(v) {
			return invalid(field, "'%s'. Label values must match [-_a-z0-9]{0,63}.", v)
		}
	}
	return nil
}

func checkType(c *Cloud, q request) *failure {
	name := tail(q.body.text("machineType"))
	if name == "" {
		return invalid("resource.machineType", "''. Machine type specified is missing.")
	}
	if _, ok := c.options.Inventory.machineType(q.scope, name); !ok && !c.options.AcceptAny {
		return invalid("resource.machineType", "'%s'. Machine type with name '%s' does not exist in zone '%s'.", q.body.text("machineType"), name, q.scope)
	}
	for n, a := range q.body.parts("guestAccelerators") {
		kind := tail(a.text("acceleratorType"))
		if _, ok := c.options.Inventory.accelerator(q.scope, kind); !ok && !c.options.AcceptAny {
			return notFound("projects/" + q.project + "/zones/" + q.scope + "/acceleratorTypes/" + kind)
		}
		if n > 0 {
			return failed(http.StatusRequestEntityTooLarge, "fieldSizeTooLarge", "Value for field 'resource.guestAccelerators' is too large: maximum size 1 element(s); actual size %d.", n+1)
		}
	}
	return nil
}

func checkScheduling(c *Cloud, q request) *failure {
	s := q.body.part("scheduling")
	restart, told := s["automaticRestart"].(bool)
	gpus := len(q.body.parts("guestAccelerators")) > 0
	switch {
	case spot(s) && told && restart:
		return failed(http.StatusBadRequest, "badRequest", "Scheduling must have preemptible be false when AutomaticRestart is true.")
	case spot(s) && strings.EqualFold(s.text("onHostMaintenance"), "MIGRATE"):
		return failed(http.StatusBadRequest, "badRequest", "Scheduling preemptible instances cannot have on host maintenance MIGRATE.")
	case gpus && !strings.EqualFold(s.text("onHostMaintenance"), "TERMINATE"):
		return failed(http.StatusBadRequest, "badRequest", "Instances with guest accelerators do not support live migration.")
	case len(q.body.parts("serviceAccounts")) > 1:
		return invalid("resource.serviceAccounts", "'%d'. At most one service account can be specified.", len(q.body.parts("serviceAccounts")))
	}
	return nil
}

func spot(scheduling resource) bool {
	return scheduling.yes("preemptible") || scheduling.text("provisioningModel") == "SPOT"
}

func checkDisks(c *Cloud, q request) *failure {
	all := q.body.parts("disks")
	if len(all) == 0 {
		return invalid("resource.disks", "''. At least one disk is required.")
	}
	for n, d := range all {
		field := "resource.disks[" + strconv.Itoa(n) + "].initializeParams."
		init := d.part("initializeParams")
		if image := init.text("sourceImage"); image != "" && !hasImage(c, q.project, image) {
			return failed(http.StatusNotFound, "notFound", "The resource '%s' was not found", below(image))
		} else if image == "" && d.text("source") == "" && n == 0 {
			return failed(http.StatusBadRequest, "invalid", "Invalid value for field 'resource.disks': ''. No image or source is given for the boot disk.")
		}
		if kind := tail(init.text("diskType")); kind != "" && !hasDiskType(c, kind) {
			return invalid(field+"diskType", "'%s'. The referenced diskType resource cannot be found.", init.text("diskType"))
		}
		if size := init.number("diskSizeGb"); size != 0 && size < 10 && kindOf(d) != scratch {
			return invalid(field+"diskSizeGb", "'%d'. Disk size must be at least 10 GB.", size)
		}
		if err := checkLabels(field+"labels", init.words("labels")); err != nil {
			return err
		}
	}
	return nil
}

// checkDiskNames refuses two disks with one name, and a disk that another instance uses, because only one instance may write
// to a disk.
func checkDiskNames(c *Cloud, q request) *failure {
	seen := map[string]bool{}
	for n, d := range q.body.parts("disks") {
		if kindOf(d) == scratch {
			continue
		}
		name := diskName(q.name, n, d)
		if seen[name] {
			return invalid("resource.disks["+strconv.Itoa(n)+"].initializeParams.diskName", "'%s'. Two disks of the instance have that name.", name)
		}
		seen[name] = true
		if found, ok := diskNamed(c, q.project, q.scope, name); ok && len(found.is.texts("users")) > 0 {
			return inUse(found)
		}
	}
	return nil
}

func kindOf(d resource) string {
	if t := d.text("type"); t != "" {
		return t
	}
	return "PERSISTENT"
}

func checkNetworks(c *Cloud, q request) *failure {
	all := q.body.parts("networkInterfaces")
	if len(all) == 0 {
		return invalid("resource.networkInterfaces", "''. At least one network interface is required.")
	}
	for n, nic := range all {
		field := "resource.networkInterfaces[" + strconv.Itoa(n) + "]."
		if network := nic.text("network"); network != "" && !c.options.AcceptAny {
			project, name := owner(network, q.project)
			if _, ok := c.options.Inventory.network(project, name); !ok {
				return invalid(field+"network", "'%s'. The referenced network resource cannot be found.", network)
			}
		}
		if subnet := nic.text("subnetwork"); subnet != "" && !c.options.AcceptAny {
			project, name := owner(subnet, q.project)
			if _, ok := c.options.Inventory.subnetwork(project, regionOf(q.scope), name); !ok {
				return invalid(field+"subnetwork", "'%s'. The referenced subnetwork resource cannot be found.", subnet)
			}
		}
	}
	return nil
}

// checkPolicy refuses what an organization policy forbids.
func checkPolicy(c *Cloud, q request) *failure {
	for _, nic := range q.body.parts("networkInterfaces") {
		if c.options.Inventory.InsideOnly && len(nic.parts("accessConfigs")) > 0 {
			return failed(http.StatusPreconditionFailed, "conditionNotMet",
				"Constraint constraints/compute.vmExternalIpAccess violated for project %s. Add instance projects/%s/zones/%s/instances/%s to the constraint to use external IP with it.",
				c.options.Inventory.Number, q.project, q.scope, q.name)
		}
	}
	return nil
}

func checkTags(c *Cloud, q request) *failure {
	for key, value := range q.body.part("params").words("resourceManagerTags") {
		if _, ok := find(c.options.Inventory.TagValues, func(v TagValue) bool { return v.ID == value }); !ok && !c.options.AcceptAny || key == "" {
			return invalid("resource.params.resourceManagerTags", "'%s'. The tag value does not exist.", value)
		}
	}
	return nil
}

// owner returns the project and the name in a link, which may be a short link.
func owner(link, project string) (string, string) {
	if parts := strings.Split(below(link), "/"); len(parts) > 1 && parts[0] == "projects" {
		project = parts[1]
	}
	return project, tail(link)
}

func hasImage(c *Cloud, project, image string) bool {
	if c.options.AcceptAny {
		return true
	}
	project, name := owner(image, project)
	_, ok := c.options.Inventory.image(project, name, strings.Contains(image, "/family/"))
	return ok
}

func hasDiskType(c *Cloud, name string) bool {
	for _, t := range c.options.Inventory.DiskTypes {
		if t == name {
			return true
		}
	}
	return c.options.AcceptAny
}
