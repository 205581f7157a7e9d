package ecs

// theirs is the instance of a request, if it is one of the caller's account.
func (c *store) theirs(in *call) (instance, *failure) {
	i, ok := c.existing(in.Get("InstanceId"))
	if !ok || i.Account != in.account {
		return instance{}, refuse("InvalidInstanceId.NotFound", "The specified InstanceId does not exist.")
	}
	return i, nil
}

// deleteInstance releases an instance that is off, or one that is on by force.
func deleteInstance(c *Cloud, in *call) (object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	switch state := c.state(i); {
	case state == pending:
		return nil, refuse("IncorrectInstanceStatus.Initializing", "The specified instance status does not support this operation.")
	case state != stopped && (state != running || in.Get("Force") != "true"):
		return nil, refuse("IncorrectInstanceStatus", "The current status of the resource does not support this operation.")
	}
	c.wish(i.ID, "release")
	return object{}, nil
}

func startInstance(c *Cloud, in *call) (object, *failure) { return c.change(in, "run", stopped) }

func stopInstance(c *Cloud, in *call) (object, *failure) { return c.change(in, "stop", running) }

// rebootInstance restarts an instance that is on.
func rebootInstance(c *Cloud, in *call) (object, *failure) { return c.change(in, "run", running) }

// change changes the requested state of an instance that is in the state.
func (c *Cloud) change(in *call, wish, from string) (object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	if c.state(i) != from {
		return nil, refuse("IncorrectInstanceStatus", "The current status of the resource does not support this operation.")
	}
	c.wish(i.ID, wish)
	return object{}, nil
}

// tagResources writes tags of instances.
func tagResources(c *Cloud, in *call) (object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tags := in.Tags("Tag")
	switch {
	case in.Get("ResourceType") != "instance":
		return nil, refuse("InvalidResourceType.NotFound", "This simulator has tags of instances only.")
	case len(tags) == 0:
		return nil, refuse("MissingParameter.TagKey", "You must specify Tag.N.Key.")
	}
	if no := checkTagTexts(tags); no != nil {
		return nil, no
	}
	ids := in.List("ResourceId")
	for _, id := range ids {
		i, ok := c.existing(id)
		switch {
		case !ok || i.Account != in.account:
			return nil, refuse("InvalidResourceId.NotFound", "The specified ResourceIds are not found in our records.")
		case len(i.tagged(tags).Tags) > mostTags:
			return nil, refuse("NumberExceed.Tags", "The Tags parameter number is exceed.")
		}
	}
	for _, id := range ids {
		c.instances.Update(id, func(i instance) instance { return i.tagged(tags) })
	}
	return object{}, nil
}
