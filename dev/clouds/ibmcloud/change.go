package ibmcloud

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// theirs is the instance of a request, if it is one of the caller's account.
func (c *store) theirs(in *call) (instance, *failure) {
	i, ok := c.existing(in.id)
	if !ok || i.Account != in.account {
		return instance{}, missing("instance", in.id)
	}
	return i, nil
}

func deleteInstance(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	if !slices.Contains([]string{running, stopped, failed}, c.status(i)) {
		return nil, refuse(http.StatusConflict, "instance_delete_conflict", "The instance cannot be deleted in the current status.")
	}
	c.wish(i.ID, wishDelete)
	return nil, nil
}

// fromStatus is the status in which an instance accepts an action, and the state that the action requests.
var fromStatus = map[string]struct{ from, wish string }{"start": {stopped, wishRun}, "stop": {running, wishStop}, "reboot": {running, wishRun}}

func createAction(c *Cloud, in *call) (any, *failure) {
	var body struct {
		Type string `json:"type"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	err := json.Unmarshal(in.body, &body)
	action, ok := fromStatus[body.Type]
	switch {
	case err != nil || !ok:
		return nil, bad("type", "The action %q does not exist.", body.Type)
	case c.status(i) != action.from:
		return nil, refuse(http.StatusConflict, "invalid_state", "An action was requested on a resource which is not supported at the current status of the resource.")
	}
	c.wish(i.ID, action.wish)
	return object{"id": double.UUID(), "type": body.Type, "status": "pending", "href": "", "created_at": c.clock.Now().UTC()}, nil
}

// renamePart changes the name of a network interface, or of the attachment of a volume.
func renamePart(c *Cloud, in *call) (any, *failure) {
	var body struct {
		Name string `json:"name"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	if json.Unmarshal(in.body, &body) != nil || !nameForm.MatchString(body.Name) {
		return nil, bad("name", "The name %q is not valid.", body.Name)
	}
	interfaces := strings.Contains(in.URL.Path, "/network_interfaces/")
	if want := partID(i, "attachment"); interfaces && in.part != partID(i, "interface") || !interfaces && in.part != want {
		return nil, missing("part", in.part)
	}
	c.instances.Change(i.ID, func(i *instance) {
		if interfaces {
			i.Interface = body.Name
		} else {
			i.Attachment = body.Name
		}
	})
	return object{"id": in.part, "name": body.Name}, nil
}

// attachTag attaches user tags to instances, as Global Tagging does: an error of one resource is in its result.
func attachTag(c *Cloud, in *call) (any, *failure) {
	var body struct {
		Resources []struct {
			ID string `json:"resource_id"`
		} `json:"resources"`
		Names []string `json:"tag_names"`
	}
	if json.Unmarshal(in.body, &body) != nil || len(body.Resources) == 0 || len(body.Names) == 0 || in.query.Get("tag_type") != "user" {
		return nil, bad("tag_names", "Resources and user tags are required.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	results := []object{}
	for _, r := range body.Resources {
		id := r.ID[strings.LastIndexByte(r.ID, ':')+1:]
		i, ok := c.existing(id)
		if ok = ok && i.Account == in.account; ok {
			c.instances.Change(id, func(i *instance) {
				tags := maps.Clone(i.Tags)
				if tags == nil {
					tags = map[string]string{}
				}
				for _, name := range body.Names {
					key, value, _ := strings.Cut(name, ":")
					tags[key] = value
				}
				i.Tags = tags
			})
		}
		results = append(results, object{"resource_id": r.ID, "is_error": !ok})
	}
	return object{"results": results}, nil
}
