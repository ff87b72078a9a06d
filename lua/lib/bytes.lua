-- GIVES sorts_before

-- Do the bytes of `a` sort before those of `b`?  `<` would ask the locale.
local function sorts_before(a, b)
    local low, high = 0, math.min(#a, #b) -- bytes that are equal: at least low, at most high
    while low < high do
        local middle = math.ceil((low + high) / 2)
        if string.sub(a, low + 1, middle) == string.sub(b, low + 1, middle) then
            low = middle
        else
            high = middle - 1
        end
    end
    return (string.byte(a, low + 1) or -1) < (string.byte(b, low + 1) or -1)
end
