package gce

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a simulator.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown service accounts, keys, projects, regions, zones, images, networks,
	// subnetworks, machine types and accelerators.
	AcceptAny bool
	// Boot is the time until an instance runs, Delete the time until it is deleted; 0 means 15 and 20 s.
	Boot, Delete time.Duration
	// PageSize limits pages; 0 means 500.
	PageSize int
}

// Cloud is the simulator of one project: a [double.Cloud].
type Cloud struct {
	clock   *double.Clock
	options Options
	double.Controls
	double.Conditions // the capacity of zones, and of zone/type

	mu        sync.Mutex
	serial    uint64
	instances *double.Table[instance]
	disks     *double.Table[disk]
	balancers balancers
	access    access
	// operations are all operations by name, in the order of their beginning. replies are the operations of requests with a
	// request ID.
	operations *double.Table[resource]
	replies    map[string]string
	agenda     []event
	sample     sample
	cutOff     cutOff
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a simulator of a project without instances.
func New(clock *double.Clock, o Options) *Cloud {
	if o.Boot == 0 {
		o.Boot = 15 * time.Second
	}
	if o.Delete == 0 {
		o.Delete = 20 * time.Second
	}
	if o.PageSize <= 0 || o.PageSize > 500 {
		o.PageSize = 500
	}
	c := &Cloud{
		clock: clock, options: o, serial: 7_000_000_000_000_000_000,
		instances: double.NewTable[instance](clock), disks: double.NewTable[disk](clock), operations: double.NewTable[resource](clock),
		replies: map[string]string{},
	}
	c.balancers = newBalancers(o.Inventory)
	c.access = newAccess(o.Inventory, o.AcceptAny)
	c.Controls = controls(c)
	return c
}

// newID is a new number, of 19 digits like the real ones.
func newID(c *Cloud) string {
	c.serial++
	return strconv.FormatUint(c.serial, 10)
}

// event is a scheduled change.
type event struct {
	at time.Time
	do func()
}

// after schedules a change.
func after(c *Cloud, d time.Duration, do func()) {
	c.agenda = append(c.agenda, event{c.clock.Now().Add(d), do})
}

// settle applies the changes that are due.
func (c *Cloud) settle() {
	for {
		now, next := c.clock.Now(), -1
		for i, e := range c.agenda {
			if !e.at.After(now) && (next < 0 || e.at.Before(c.agenda[next].at)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		do := c.agenda[next].do
		c.agenda = slices.Delete(c.agenda, next, next+1)
		do()
	}
}

// request is an authenticated request.
type request struct {
	target
	method string
	query  func(string) string
	body   resource
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	if serveOther(c, w, r, body) {
		return
	}
	t, ok := parse(r.URL.Path)
	if !ok {
		failed(http.StatusNotFound, "notFound", "Not Found").write(w)
		return
	}
	answer, err := answer(c, t, r, body)
	if err != nil {
		err.write(w)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// serveOther answers requests of other APIs than the compute API.
func serveOther(c *Cloud, w http.ResponseWriter, r *http.Request, body []byte) bool {
	switch path := r.URL.Path; {
	case path == tokenPath:
		serveToken(c, w, r, body)
	case path == exchangePath:
		serveExchange(c, w, body)
	case strings.HasPrefix(path, impersonationPath):
		serveImpersonation(c, w, r)
	case strings.HasPrefix(path, tagValuesPath):
		serveTagValue(c, w, r)
	case strings.Contains(path, "/computeMetadata/"):
		serveMetadata(c, w, r)
	default:
		return false
	}
	return true
}

// answer answers a request of the compute API, without checking its credentials.
func answer(c *Cloud, t target, r *http.Request, body []byte) (any, *failure) {
	who, err := c.access.bearer(r, c.clock.Now())
	if err != nil {
		return nil, err
	}
	q := request{target: t, method: t.method(r), query: r.URL.Query().Get}
	if len(body) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&q.body) != nil {
			return nil, failed(http.StatusBadRequest, "parseError", "Parse Error")
		}
	}
	if err := checkPlace(c, q); err != nil {
		return nil, err
	}
	for _, p := range permissions(q) {
		if !who.may(p) {
			return nil, failed(http.StatusForbidden, "forbidden", "Required '%s' permission for '%s'", p, below(r.URL.Path))
		}
	}
	serve, ok := methods[q.method]
	if !ok {
		return nil, failed(http.StatusNotFound, "notFound", "Not Found")
	}
	return serve(c, q)
}

// checkPlace checks project and zone, or region, of a request.
func checkPlace(c *Cloud, q request) *failure {
	v := &c.options.Inventory
	_, region := v.region(q.scope)
	foreign := slices.Contains([]string{"images", "imageFamilyViews"}, q.collection) || c.options.AcceptAny
	switch {
	case q.project != v.Project && q.project != v.Number && !foreign:
		return failed(http.StatusNotFound, "notFound", "The resource 'projects/%s' was not found", q.project)
	case q.scope != "" && !region && !isZone(c, q.scope) && !c.options.AcceptAny:
		return failed(http.StatusBadRequest, "invalid", "Invalid value for field 'zone': '%s'. Unknown zone.", q.scope)
	}
	return nil
}

var zoneForm = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+-[a-z]$`)

func isZone(c *Cloud, name string) bool {
	return c.options.Inventory.zone(name) || c.options.AcceptAny && zoneForm.MatchString(name)
}

// methods are the supported methods of the API.
var methods = map[string]func(*Cloud, request) (any, *failure){
	"instances.insert":                insertInstance,
	"instances.get":                   getInstance,
	"instances.list":                  listInstances,
	"instances.aggregatedList":        listInstances,
	"instances.delete":                deleteInstance,
	"instances.start":                 startInstance,
	"instances.stop":                  stopInstance,
	"instances.reset":                 resetInstance,
	"instances.setLabels":             setLabels,
	"instances.setTags":               setTags,
	"instances.setDeletionProtection": setProtection,
	"instances.getSerialPortOutput":   serialPort,
	"disks.get":                       getDisk,
	"disks.list":                      listDisks,
	"disks.aggregatedList":            listDisks,
	"disks.delete":                    deleteDisk,
	"disks.insert":                    insertDisk,
	"operations.get":                  getOperation,
	"operations.wait":                 getOperation,
	"operations.list":                 listOperations,
	"operations.aggregatedList":       listOperations,
	"machineTypes.get":                getMachineType,
	"machineTypes.list":               listMachineTypes,
	"acceleratorTypes.get":            getAccelerator,
	"images.get":                      getImage,
	"images.getFromFamily":            getImage,
	"imageFamilyViews.get":            getFamilyView,
	"regions.get":                     getRegion,
	"regions.list":                    listRegions,
	"zones.get":                       getZone,
	"zones.list":                      listZones,
	"projects.get":                    getProject,
	"networks.get":                    getNetwork,
	"subnetworks.get":                 getSubnetwork,
	"targetPools.get":                 getPool,
	"targetPools.addInstance":         poolMember,
	"targetPools.removeInstance":      poolMember,
	"instanceGroups.get":              getGroup,
	"instanceGroups.insert":           insertGroup,
	"instanceGroups.listInstances":    listGroup,
	"instanceGroups.addInstances":     groupMembers,
	"instanceGroups.removeInstances":  groupMembers,
	"backendServices.get":             getBackend,
	"backendServices.update":          updateBackend,
	"backendServices.patch":           updateBackend,
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
