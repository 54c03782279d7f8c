// How often a word occurs in each piece of a text.
kernel void word_search(global const uchar *text, int length, constant uchar *word, int letters, int piece, global int *counts)
{
    int first = get_global_id(0) * piece;
    int last = min(first + piece, length - letters + 1);
    int count = 0;
    for (int at = first; at < last; ++at) {
        int same = 0;
        while (same < letters && text[at + same] == word[same])
            ++same;
        if (same == letters)
            ++count;
    }
    counts[get_global_id(0)] = count;
}
